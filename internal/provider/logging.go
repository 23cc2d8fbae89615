package provider

import (
	"context"
	"log/slog"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// logSubsystem has a level of its own: TF_LOG_PROVIDER_BK_GSE=DEBUG logs the calls and
// leaves out Terraform's own lines.
const logSubsystem = "gse"

// newLogger returns the clients' logger, which writes to Terraform's log with the context
// of the call at hand, so that each line has the fields of the right RPC.
func newLogger() *slog.Logger { return slog.New(tflogHandler{}) }

type tflogHandler struct {
	attrs []slog.Attr
	group string
}

// Enabled leaves filtering to Terraform's own levels.
func (tflogHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h tflogHandler) Handle(ctx context.Context, record slog.Record) error {
	ctx = tflog.NewSubsystem(ctx, logSubsystem, tflog.WithLevelFromEnv("TF_LOG_PROVIDER_BK", logSubsystem))
	fields := make(map[string]any, record.NumAttrs()+len(h.attrs))
	add := func(a slog.Attr) bool {
		fields[h.group+a.Key] = a.Value.Resolve().String()
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	record.Attrs(add)
	switch {
	case record.Level < slog.LevelDebug:
		tflog.SubsystemTrace(ctx, logSubsystem, record.Message, fields)
	case record.Level < slog.LevelInfo:
		tflog.SubsystemDebug(ctx, logSubsystem, record.Message, fields)
	case record.Level < slog.LevelWarn:
		tflog.SubsystemInfo(ctx, logSubsystem, record.Message, fields)
	case record.Level < slog.LevelError:
		tflog.SubsystemWarn(ctx, logSubsystem, record.Message, fields)
	default:
		tflog.SubsystemError(ctx, logSubsystem, record.Message, fields)
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
