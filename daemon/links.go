package daemon

import "sync"

// linkSet is the set of open links, so that the drain deadline can cut
// exchanges that are under way.
type linkSet struct {
	mu     sync.Mutex
	open   map[link]struct{}
	closed bool // by closeAll: no link stays open any more
}

// add says how many links are open now.
func (s *linkSet) add(l link) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[link]struct{}{}
	}
	s.open[l] = struct{}{}
	if s.closed {
		_ = l.Close()
	}
	return len(s.open)
}

// remove says how many links are still open.
func (s *linkSet) remove(l link) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, l)
	return len(s.open)
}

func (s *linkSet) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for l := range s.open {
		_ = l.Close() // what it cuts is settled by the link's owner
	}
}
