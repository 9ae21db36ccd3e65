package verbs

import (
	"math"
	"slices"
	"time"
)

// beyond is the number of samples that must lie beyond a percentile for it to be told.
const beyond = 10

// latencyOf makes order statistics of samples, which it sorts. Each sample is divided by div.
func latencyOf(samples []time.Duration, div float64, kind string) *Latency {
	l := &Latency{Kind: kind}
	if len(samples) == 0 {
		return l
	}
	slices.Sort(samples)
	us := func(i int) *float64 {
		v := round(float64(samples[i].Nanoseconds())/1e3/div, 3)
		return &v
	}
	l.Min, l.Max = us(0), us(len(samples)-1)
	for _, p := range []struct {
		to       **float64
		fraction float64
	}{{&l.P50, 0.5}, {&l.P99, 0.99}, {&l.P999, 0.999}} {
		if i, ok := rank(len(samples), p.fraction); ok {
			*p.to = us(i)
		}
	}
	return l
}

// rank is the index of the nearest-rank percentile of n sorted samples, and whether enough samples
// lie beyond it.
func rank(n int, fraction float64) (int, bool) {
	r := int(math.Ceil(float64(n) * fraction))
	return r - 1, r >= 1 && n-r >= beyond
}

// round rounds to a number of decimals.
func round(v float64, decimals int) float64 {
	f := math.Pow10(decimals)
	return math.Round(v*f) / f
}
