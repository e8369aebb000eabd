package daemon

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zapcore"

	"soakline/metrics"
)

// headerTimeout bounds how long a client may take to send a request's header.
const headerTimeout = 10 * time.Second

// webServer serves metrics and state. The zero value serves nothing.
type webServer struct {
	listener net.Listener
	server   *http.Server
	scheme   string // of its address; "" where a web configuration decides
	path     string // of the metrics
}

// serve starts the HTTP server, if there is to be one.
func (d *Daemon) serve() (*webServer, error) {
	c := d.config.Web
	w := &webServer{scheme: "http://", path: c.TelemetryPath}
	if c.ListenAddress == "" {
		return w, nil
	}
	if err := web.Validate(c.ConfigFile); err != nil {
		return nil, fmt.Errorf("web.config_file: %w", err)
	}
	if c.ConfigFile != "" {
		w.scheme = ""
	}
	mux, err := d.routes()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", c.ListenAddress)
	if err != nil {
		return nil, fmt.Errorf("web.listen_address: %w", err)
	}
	core, err := zapcore.NewIncreaseLevelCore(d.log.Core(), zapcore.WarnLevel)
	if err != nil {
		core = d.log.Core() // it logs less than warnings already
	}
	logger := slog.New(zapslog.NewHandler(core))
	w.listener = listener
	w.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          d.errorLog(),
	}
	go func() {
		err := web.Serve(listener, w.server, &web.FlagConfig{WebConfigFile: &c.ConfigFile}, logger)
		if !errors.Is(err, http.ErrServerClosed) {
			d.log.Error("the HTTP server has ended", zap.Error(err))
		}
	}()
	return w, nil
}

func (w *webServer) close() {
	if w.server != nil {
		_ = w.server.Close() // nobody is owed an answer any more
	}
}

// url is where the metrics are; "" if nowhere.
func (w *webServer) url() string {
	if w.listener == nil {
		return ""
	}
	return w.scheme + w.listener.Addr().String() + w.path
}

func (d *Daemon) routes() (*http.ServeMux, error) {
	landing, err := web.NewLandingPage(web.LandingConfig{
		Name:        "Soakline",
		Description: "Continuous open-loop load for Redis and Valkey",
		Version:     d.options.Build.Version,
		Profiling:   "false",
		Links: []web.LandingLinks{
			{Address: d.config.Web.TelemetryPath, Text: "Metrics"},
			{Address: "/config", Text: "Configuration", Description: "in effect, without secrets"},
			{Address: "/-/ready", Text: "Ready"},
			{Address: "/-/healthy", Text: "Healthy"},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the landing page: %w", err)
	}
	exporter := metrics.NewExporter(labels(), d.config.Target.ReadTimeout, d.read)
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", landing)
	mux.Handle("GET "+d.config.Web.TelemetryPath, exporter.Handler(d.errorLog()))
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "healthy")
	})
	mux.HandleFunc("GET /-/ready", d.answerReady)
	mux.HandleFunc("POST /-/resume", d.answerResume)
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, d.config.YAML())
	})
	return mux, nil
}

func (d *Daemon) errorLog() *log.Logger {
	std, err := zap.NewStdLogAt(d.log, zapcore.WarnLevel)
	if err != nil {
		panic(err) // warn is a level
	}
	return std
}

// read is one scrape.
func (d *Daemon) read(s *metrics.Snapshot) metrics.Gauges {
	mode, limits, queue := d.batches()
	limits = limits.In(mode)
	g := metrics.Gauges{
		Build:             d.options.Build,
		OpenLoop:          d.process().OpenLoop(),
		GeneratorValid:    !d.invalid.Load(),
		TargetAnswers:     !d.silent.Load(),
		BatchCommands:     limits.Commands,
		BatchRequestBytes: limits.RequestBytes,
		BatchReplyBytes:   limits.ReplyBytes,
		BatchDelay:        limits.Delay,
		QueueCommands:     queue.Commands,
		QueueBytes:        int(queue.Bytes),
	}
	g.TargetChanges = d.changed()
	g.Brakes = d.safety.on()
	g.UncertainExecuted, g.UncertainNotExecuted, _, _ = d.doubts.count()
	if facts := d.facts.Load(); facts != nil {
		g.Target = metrics.Target{
			Server: facts.Server, Version: facts.Version, Mode: facts.Mode,
			Topology: facts.Topology, Persistence: facts.Persistence,
		}
	}
	if e := d.engine.Load(); e != nil {
		e.Collect(s)
		g.OfferedRate = e.Rate()
	}
	return g
}

// answerReady answers 200 while the target answers and arrivals flow.
func (d *Daemon) answerReady(w http.ResponseWriter, _ *http.Request) {
	if reason := d.unready(); reason != "" {
		http.Error(w, "not ready: "+reason, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

func (d *Daemon) unready() string {
	e := d.engine.Load()
	if e == nil {
		if why := d.starting.Load(); why != nil {
			return *why
		}
		return "the load has not begun yet"
	}
	s := metrics.NewSnapshot(labels())
	e.Collect(s)
	switch {
	case e.Draining():
		return "draining"
	case d.safety.reason() != "":
		return "braked: " + d.safety.reason()
	case s.ConnectionsUp == 0:
		return "no connection to the target"
	case d.silent.Load():
		return "the target does not answer"
	case s.Arrivals() == 0 && e.Rate() > 0:
		return "no arrival yet"
	}
	return ""
}

// answerResume lets a braked load go on, for who holds the token.
func (d *Daemon) answerResume(w http.ResponseWriter, r *http.Request) {
	token := d.config.Web.AdminToken.Reveal()
	if token == "" {
		http.Error(w, "no web.admin_token_file is set: nobody may change anything here", http.StatusForbidden)
		return
	}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "want Authorization: Bearer, with the token of web.admin_token_file", http.StatusUnauthorized)
		return
	}
	_ = d.try(r.Context(), d.learn) // lest a brake judges by what was true before
	if d.resume() {
		fmt.Fprintln(w, "the load goes on")
		return
	}
	fmt.Fprintln(w, "no brake is on")
}
