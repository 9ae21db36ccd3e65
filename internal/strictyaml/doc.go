// Package strictyaml is the only reader and writer of YAML in this module.
//
// Files that people type decide what is installed on a host, so nothing in them is guessed: an
// unknown or repeated key, a value of the wrong type and an unquoted version (24.10 is a number in
// YAML, and 24.1 is the same number) are errors, each with file:line:column, and all of them are
// reported at once.
package strictyaml
