package provider

import (
	"context"
	"log/slog"
	"math"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// logSubsystem has a level of its own in logLevel, which can only narrow TF_LOG_PROVIDER.
const (
	logSubsystem = "gse"
	logLevel     = "TF_LOG_PROVIDER_BK_GSE"
)

// newLogger returns the clients' logger, which writes to Terraform's log with the context of the current call.
func newLogger() *slog.Logger {
	return slog.New(tflogHandler{lowest: lowest[strings.ToUpper(os.Getenv(logLevel))]})
}

// lowest is the lowest slog level for each of Terraform's levels. Without a level, everything is logged.
var lowest = map[string]slog.Level{
	"": math.MinInt, "TRACE": math.MinInt, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "OFF": math.MaxInt,
}

type tflogHandler struct {
	lowest slog.Level
	attrs  []slog.Attr
	group  string
}

// Enabled skips what would not be written. Terraform's own levels decide about the rest.
func (h tflogHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.lowest }

// Handle writes the attributes after the message, since Terraform prints the fields of a line in any order.
func (h tflogHandler) Handle(ctx context.Context, record slog.Record) error {
	ctx = tflog.NewSubsystem(ctx, logSubsystem, tflog.WithLevelFromEnv("TF_LOG_PROVIDER_BK", logSubsystem))
	var text strings.Builder
	text.WriteString(record.Message + ":")
	add := func(a slog.Attr) bool {
		value := strings.ReplaceAll(a.Value.Resolve().String(), "\n", `\n`)
		if strings.Contains(value, " ") {
			value = `"` + value + `"`
		}
		text.WriteString(" " + h.group + a.Key + "=" + value)
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	record.Attrs(add)
	switch line := text.String(); {
	case record.Level < slog.LevelDebug:
		tflog.SubsystemTrace(ctx, logSubsystem, line)
	case record.Level < slog.LevelInfo:
		tflog.SubsystemDebug(ctx, logSubsystem, line)
	case record.Level < slog.LevelWarn:
		tflog.SubsystemInfo(ctx, logSubsystem, line)
	case record.Level < slog.LevelError:
		tflog.SubsystemWarn(ctx, logSubsystem, line)
	default:
		tflog.SubsystemError(ctx, logSubsystem, line)
	}
	return nil
}

func (h tflogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return h
}

func (h tflogHandler) WithGroup(name string) slog.Handler {
	h.group += name + "."
	return h
}
