// Package archtest holds the test of what may depend on what, so that the seams between packages
// are kept by a failing test and not by memory: plan and doctor do no I/O, detect cannot change a
// host, the command line library stays in cmd, and no package has state of its own.
package archtest
