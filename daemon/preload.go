package daemon

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
)

const (
	// preloadReport is how often the progress of a long preload is logged.
	preloadReport = 10 * time.Second
	// preloadSurveys is how often at least the target is asked how full it is
	// on the way to its maxmemory.
	preloadSurveys = 64
)

// preload writes the key space, so that reads find values. It has one exchange
// under way at a time, and rests after each for as long as it took: the target
// has time for others, however fast it is. A brake that trips cuts it short.
func (d *Daemon) preload(ctx context.Context) error {
	if !d.preloads() {
		return nil
	}
	d.starting.Store(new("preloading the key space"))
	begin := time.Now()
	survey, report := begin, begin.Add(preloadReport)
	var written int64 // bytes since the target was last asked
	d.preloaded.Store(0)
	for key := uint64(0); key < d.layout.Keys; {
		at := time.Now()
		if !at.Before(survey) || written > d.safety.room()/preloadSurveys {
			if err := d.learn(ctx); err != nil {
				return err
			}
			d.brake(observation{})
			survey, written = at.Add(surveyEvery), 0
		}
		if d.safety.reason() != "" {
			d.log.Warn("the preload is cut short by a brake", zap.Uint64("keys", key), zap.Uint64("of", d.layout.Keys))
			return nil
		}
		if at.After(report) {
			report = at.Add(preloadReport)
			d.log.Info("preloading", zap.Uint64("keys", key), zap.Uint64("of", d.layout.Keys), zap.Duration("elapsed", at.Sub(begin)))
		}
		began := time.Now()
		next, err := d.control().Preload(ctx, key)
		if err != nil {
			return fmt.Errorf("preload the key space, at key %d of %d: %w", key, d.layout.Keys, err)
		}
		d.preloaded.Store(next)
		written += int64(next-key) * int64(d.layout.ValueSize)
		if err := rest(ctx, d.preloadPause(time.Since(began), next-key)); err != nil {
			return err
		}
		key = next
	}
	d.log.Info("preloaded the key space", zap.Uint64("keys", d.layout.Keys), zap.Duration("elapsed", time.Since(begin)))
	return nil
}

// preloadPause is how long a preload rests after an exchange of so many keys.
func (d *Daemon) preloadPause(took time.Duration, keys uint64) time.Duration {
	limit := d.config.Safety.MaxRate
	if limit == 0 {
		return took
	}
	return max(took, time.Duration(float64(keys)/limit*float64(time.Second))-took)
}
