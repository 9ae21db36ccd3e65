// Package bundle is the file that takes all that hosts need to a place without a network: packages, the
// repositories that list them, and what is to be planned there.
//
// A bundle is a tar of plain files: manifest.json, manifest.json.asc (its signature), and the contents, each
// under pool/ by its SHA-256, so that what several hosts need is in it once. The order, the names and the
// sizes follow from the manifest, so a reader knows each byte of every header before it reads it, and whatever
// differs is refused: links, devices, names that lead elsewhere, second files of one name, sizes that lie.
package bundle
