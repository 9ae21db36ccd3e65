package strictyaml

import "testing"

func TestFromJSON(t *testing.T) {
	got, err := FromJSON([]byte(`{"b":1,"a":["x","24.10",true,null,1.5],"c":{},"d":[],"e":"two\nlines\n"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "b: 1\na:\n  - x\n  - \"24.10\"\n  - true\n  - null\n  - 1.5\nc: {}\nd: []\ne: |\n  two\n  lines\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, bad := range []string{``, `{`, `{} {}`, `{"a":}`} {
		if _, err := FromJSON([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
