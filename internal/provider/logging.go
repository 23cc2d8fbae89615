package provider

import (
	"context"
	"log/slog"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// logSubsystem has a level of its own: TF_LOG_PROVIDER_BK_GSE=DEBUG shows the
// calls without Terraform's noise.
const logSubsystem = "gse"

// newLogger is a logger for the clients that writes to Terraform's log, with the
// context of the call in hand, so that lines carry the fields of the right RPC.
func newLogger() *slog.Logger { return slog.New(tflogHandler{}) }

type tflogHandler struct {
	attrs []slog.Attr
	group string
}

// Enabled leaves the choice to Terraform's own levels.
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
