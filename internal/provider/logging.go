package provider

import (
	"context"
	"log/slog"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// logSubsystem has a level of its own, which can only narrow TF_LOG_PROVIDER: TF_LOG_PROVIDER_BK_GSE.
const logSubsystem = "gse"

// newLogger returns the clients' logger, which writes to Terraform's log by the context
// of the call at hand.
func newLogger() *slog.Logger { return slog.New(tflogHandler{}) }

type tflogHandler struct {
	attrs []slog.Attr
	group string
}

// Enabled leaves filtering to Terraform's own levels.
func (tflogHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes the attributes behind the message, in their order: Terraform prints the
// fields of a line in any.
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
