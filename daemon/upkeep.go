package daemon

import "sync"

// upkeep lists the counters in use, whose TTL is to be refreshed: INCR does not
// do it.
type upkeep struct {
	mu    sync.Mutex
	names map[int][]string // by connection
}

// set replaces the counters of the connection owner.
func (u *upkeep) set(owner int, names []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.names = map[int][]string{}
	}
	u.names[owner] = names
}

// all lists the counters of all connections.
func (u *upkeep) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []string
	for _, names := range u.names {
		all = append(all, names...)
	}
	return all
}
