package detect

import "io"

// decodeOFEDInfo finds what the script ofed_info prints with -s.
func decodeOFEDInfo(file io.ReaderAt, size int64) (string, error) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, min(size, 1<<20)))
	if err != nil {
		return "", err
	}
	m := ofedProgram.FindSubmatch(data)
	if m == nil {
		return "", nil
	}
	return string(m[1]) + ":\n", nil
}
