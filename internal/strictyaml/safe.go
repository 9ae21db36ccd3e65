package strictyaml

import (
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"
)

// safeWord is what a message may repeat of a file of which nothing says that it is meant for this program: a file
// named by mistake may hold passwords or keys, and messages end in logs.
var safeWord = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// ours says that a document claims to be one of this program's: a mapping with an apiVersion. Of such a document
// messages quote what is wrong.
func ours(doc *yaml.Node) bool {
	if doc.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		if doc.Content[i].Value == "apiVersion" {
			return true
		}
	}
	return false
}

// quoted is a text of the document for a message, or the words that stand for it.
func (d *decoder) quoted(text, instead string) string {
	if !d.ours && !safeWord.MatchString(text) {
		return instead
	}
	return strconv.Quote(text)
}
