// Package supply collects what hosts need for a bundle: it has the real package manager of this machine resolve
// their plans, with the packages that each host has, and keeps what was downloaded, so that a collection that
// was cut off goes on where it stopped.
package supply
