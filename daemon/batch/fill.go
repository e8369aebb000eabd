package batch

import "soakline/daemon/workload"

// Fill is a batch that is being filled, up to its caps. The zero value is
// empty.
type Fill struct {
	Commands     int    // held so far
	RequestBytes int    // their encoded requests
	ReplyBytes   int    // their encoded expected replies
	Closed       bool   // nothing more fits
	Reason       Reason // why, once Closed
}

// Add puts c into the batch, or says that it does not fit, which closes the
// batch. The first command always fits: where it exceeds a byte cap by itself
// it travels alone. Add must not be called once the batch is Closed.
func (f *Fill) Add(l *Limits, c *workload.Command) bool {
	request := f.RequestBytes + int(c.RequestBytes)
	reply := f.ReplyBytes + int(c.ReplyBytes)
	if request > l.RequestBytes || reply > l.ReplyBytes {
		f.Closed = true
		switch {
		case f.Commands == 0:
			f.Reason = Oversize
			f.Commands, f.RequestBytes, f.ReplyBytes = 1, request, reply
			return true
		case request > l.RequestBytes:
			f.Reason = RequestBytes
		default:
			f.Reason = ReplyBytes
		}
		return false
	}
	f.Commands++
	f.RequestBytes, f.ReplyBytes = request, reply
	switch {
	case f.Commands == l.Commands:
		f.Closed, f.Reason = true, Commands
	case request == l.RequestBytes:
		f.Closed, f.Reason = true, RequestBytes
	case reply == l.ReplyBytes:
		f.Closed, f.Reason = true, ReplyBytes
	}
	return true
}
