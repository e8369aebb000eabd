package batch

import "soakline/daemon/workload"

// ring is a first-in first-out queue that grows to what it once held and
// allocates no more after that.
type ring struct {
	buf  []workload.Command // its length is a power of two, or 0
	head int
	n    int
}

func (r *ring) at(i int) *workload.Command { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring) push(c *workload.Command) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.n++
	*r.at(r.n - 1) = *c
}

// drop removes the first n commands.
func (r *ring) drop(n int) {
	r.head += n
	r.n -= n
}

func (r *ring) grow() {
	buf := make([]workload.Command, max(64, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}
