// Package archive unpacks archives that nobody vouches for yet: into an empty directory of root's own, bounded in
// number, size and depth, and never out of it. What no archive of a release has is refused, not left out.
package archive
