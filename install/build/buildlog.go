package build

import (
	"regexp"
	"strings"
)

var (
	// What compilers, linkers, cmake, ninja and make say when something is wrong, the telling ones first.
	compileError = regexp.MustCompile(`(^|[ :])(fatal )?error: |: undefined reference to |cannot find -l|No space left on device|Killed signal terminated|internal compiler error|Cannot allocate memory`)
	cmakeError   = regexp.MustCompile(`^CMake Error( at |: |:| \()`)
	missingPkg   = regexp.MustCompile(`No package '[^']+' found|Package '?[^ ']+'?, required by|Could NOT find [A-Za-z0-9]+`)
	runnerError  = regexp.MustCompile(`^(FAILED: |ninja: error: |ninja: fatal: |make(\[\d+\])?: \*\*\* |ninja: build stopped)`)
	escapes      = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
)

// firstError finds in the output of a failed build the line that says why, in one line.
func firstError(output string) string {
	lines := strings.Split(escapes.ReplaceAllString(output, ""), "\n")
	for i, line := range lines {
		if cmakeError.MatchString(line) {
			return oneLine(cmakeText(lines, i))
		}
		if compileError.MatchString(line) {
			return oneLine(line)
		}
	}
	last := ""
	for _, line := range lines {
		if runnerError.MatchString(line) {
			return oneLine(line)
		}
		if strings.TrimSpace(line) != "" {
			last = line
		}
	}
	return oneLine(last)
}

// cmakeText is the head of cmake's message with its first paragraph, which stands indented below it, and
// with what was found missing just before: the message itself often only says that something was.
func cmakeText(lines []string, at int) string {
	text := strings.TrimSpace(lines[at])
	said := false
	for _, line := range lines[at+1:] {
		blank := strings.TrimSpace(line) == ""
		if blank && said || !blank && !strings.HasPrefix(line, " ") {
			break
		}
		if !blank {
			text += " " + strings.TrimSpace(line)
			said = true
		}
	}
	for i := at - 1; i >= 0 && i >= at-6; i-- {
		if m := missingPkg.FindString(lines[i]); m != "" && !strings.Contains(text, m) {
			text += " (" + m + ")"
			break
		}
	}
	return text
}

// oneLine makes a line fit for a message: no control characters, and not too long.
func oneLine(line string) string {
	line = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffd {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, " "))
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > 300 {
		line = string(r[:300]) + "..."
	}
	return line
}

// adviceFor is what to do about an error of a build.
func adviceFor(line, log string) string {
	switch {
	case strings.Contains(line, "No space left"):
		return "free space and run it again; the whole output is in " + log
	case strings.Contains(line, "Killed signal terminated"), strings.Contains(line, "allocate memory"):
		return "the memory ran out: run it again with fewer jobs; the whole output is in " + log
	case strings.Contains(line, "No package '"), strings.Contains(line, "Could NOT find"):
		return "install what it names, with its development files; the whole output is in " + log
	}
	return "the whole output is in " + log
}
