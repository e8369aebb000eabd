package main

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"soakline/daemon/config"
)

// newLog returns a logger to out. c is valid.
func newLog(c config.Log, out io.Writer) *zap.Logger {
	form := zapcore.EncoderConfig{
		TimeKey: "ts", LevelKey: "level", MessageKey: "msg", NameKey: "logger",
		EncodeTime:     zapcore.TimeEncoderOfLayout(time.RFC3339Nano),
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
	}
	encoder := zapcore.NewJSONEncoder(form)
	if c.Format == "console" {
		form.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		encoder = zapcore.NewConsoleEncoder(form)
	}
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		panic(err) // the configuration is valid
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), level))
}
