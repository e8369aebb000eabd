package workload

import "math/rand/v2"

// Share is one line of a mix.
type Share struct {
	Kind   Kind
	Weight float64 // relative to the other shares, more than 0
}

// Source draws commands: kinds by weight, keys uniformly.
type Source struct {
	rand    *rand.Rand
	keys    uint64
	shares  []drawn
	version uint64
}

// drawn is a share with what all its commands have in common.
type drawn struct {
	upTo    float64 // cumulative weight, the last one 1
	command Command
	writes  bool // a value with a version
}

// NewSource returns a source of commands under mix, which is not empty. The
// same source of randomness gives the same commands.
func (l *Layout) NewSource(mix []Share, source rand.Source) *Source {
	s := &Source{rand: rand.New(source), keys: l.Keys, version: Preloaded}
	var total float64
	for _, share := range mix {
		total += share.Weight
	}
	var sum float64
	for _, share := range mix {
		sum += share.Weight
		s.shares = append(s.shares, drawn{
			upTo: sum / total,
			command: Command{
				Kind:         share.Kind,
				RequestBytes: int32(l.RequestBytes(share.Kind)),
				ReplyBytes:   int32(l.ReplyBytes(share.Kind)),
			},
			writes: share.Kind == Set,
		})
	}
	s.shares[len(s.shares)-1].upTo = 1
	return s
}

// Next draws the next command. When it is due is not the source's to say.
func (s *Source) Next() Command {
	d := &s.shares[0]
	if len(s.shares) > 1 {
		u := s.rand.Float64()
		i := 0
		for u >= s.shares[i].upTo {
			i++
		}
		d = &s.shares[i]
	}
	c := d.command
	c.Key = s.rand.Uint64N(s.keys)
	if d.writes {
		s.version++
		c.Version = s.version
	}
	return c
}
