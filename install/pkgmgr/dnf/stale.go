package dnf

import "strings"

// dropStaleLocks removes the lock files that a killed dnf left in an image. They hold a process number
// of namespaces that are gone; dnf waits without end for the process that has the number now. On a
// running host the number tells, and dnf sees for itself. rpm's own lock ends with its process.
func (m *Manager) dropStaleLocks() error {
	if m.Host.Told().Kind != "root" {
		return nil
	}
	dirs := []string{"/var/cache/dnf", "/var/lib/dnf", "/var/log"}
	if m.staged != nil {
		dirs = append(dirs, m.staged.cache())
	}
	stale := []string{}
	for _, dir := range dirs {
		names, err := m.names(dir)
		if err != nil {
			return err
		}
		for _, n := range names {
			if strings.HasSuffix(n, "_lock.pid") {
				stale = append(stale, dir+"/"+n)
			}
		}
	}
	return m.Drop(stale)
}
