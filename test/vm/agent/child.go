package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdmactl/rdmactl/test/vm/internal/wire"
)

// childVerb makes the agent the process that becomes the command: it sets the limits while it is
// still root, then takes the user's identity, then executes.
const childVerb = "child"

func child(spec string) error {
	var e wire.Exec
	if err := json.Unmarshal([]byte(spec), &e); err != nil {
		return err
	}
	name := e.User
	if name == "" {
		name = "root"
	}
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	if err := setLimits(e.Limits); err != nil {
		return err
	}
	if name != "root" {
		if err := become(u); err != nil {
			return fmt.Errorf("cannot become %s: %w", name, err)
		}
	}
	dir := e.Dir
	if dir == "" {
		dir = u.HomeDir
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	env := append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + u.HomeDir, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/sh",
		"LANG=C.UTF-8", "TERM=dumb",
	}, e.Env...)
	os.Clearenv()
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			if err := os.Setenv(k, v); err != nil {
				return err
			}
		}
	}
	path, err := exec.LookPath(e.Argv[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(127)
	}
	return unix.Exec(path, e.Argv, os.Environ())
}

func setLimits(l wire.Limits) error {
	for _, one := range []struct {
		name  string
		which int
		limit *wire.Limit
	}{
		{"memlock", unix.RLIMIT_MEMLOCK, l.Memlock},
		{"nofile", unix.RLIMIT_NOFILE, l.NoFile},
	} {
		if one.limit == nil {
			continue
		}
		if err := unix.Setrlimit(one.which, &unix.Rlimit{Cur: one.limit.Soft, Max: one.limit.Hard}); err != nil {
			return fmt.Errorf("cannot set limit %s: %w", one.name, err)
		}
	}
	return nil
}

func become(u *user.User) error {
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return err
	}
	var groups []int
	for _, id := range ids {
		n, err := strconv.Atoi(id)
		if err != nil {
			return err
		}
		groups = append(groups, n)
	}
	if err := unix.Setgroups(groups); err != nil {
		return err
	}
	if err := unix.Setresgid(gid, gid, gid); err != nil {
		return err
	}
	return unix.Setresuid(uid, uid, uid)
}
