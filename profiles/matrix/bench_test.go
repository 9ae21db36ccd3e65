package matrix

import "testing"

func BenchmarkEmbedded(b *testing.B) {
	b.SetBytes(int64(len(embedded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Embedded(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewIndex(b *testing.B) {
	m, err := Embedded()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewIndex(m); err != nil {
			b.Fatal(err)
		}
	}
}
