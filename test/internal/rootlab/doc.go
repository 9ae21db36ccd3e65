// Package rootlab has what the tests share that run the real program on roots of hosts which do not run: the
// program itself and what it answers, the root of one test over one that is kept, the tree of its files to
// compare, the run that works on it, and throw-away signing keys.
package rootlab
