package strictyaml

import "gopkg.in/yaml.v3"

// Place is a value in a document, to tell where things stand that only a later check finds wrong.
// Steps into it are keys of mappings (string) and indexes of lists (int). The zero Place is of
// something that was not read from a file, and its positions are zero.
type Place struct {
	file string
	node *yaml.Node
}

// Value is the position of the value that is reached by steps. Where a step leads nowhere it is the
// position of what was reached before: a missing key is reported at its mapping.
func (p Place) Value(steps ...any) Pos {
	at := p.Under(steps...)
	if at.node == nil {
		return Pos{}
	}
	return position(at.file, at.node)
}

// Key is Value for the key of the last step.
func (p Place) Key(steps ...any) Pos {
	if len(steps) == 0 {
		return p.Value()
	}
	above := p.Under(steps[:len(steps)-1]...)
	if key, _ := above.step(steps[len(steps)-1]); key != nil {
		return position(above.file, key)
	}
	return above.Value(steps[len(steps)-1])
}

// Under is the value that is reached by steps, or the last one on the way to it.
func (p Place) Under(steps ...any) Place {
	for _, step := range steps {
		_, value := p.step(step)
		if value == nil {
			return p
		}
		p.node = value
	}
	return p
}

// step gives the key, if there is one, and the value.
func (p Place) step(step any) (key, value *yaml.Node) {
	node := p.node
	for range maxDepth { // an alias can be of an alias
		if node == nil || node.Kind != yaml.AliasNode {
			break
		}
		node = node.Alias
	}
	if node == nil {
		return nil, nil
	}
	switch step := step.(type) {
	case string:
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	case int:
		if node.Kind == yaml.SequenceNode && step >= 0 && step < len(node.Content) {
			return nil, node.Content[step]
		}
	}
	return nil, nil
}
