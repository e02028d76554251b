package wfstudio

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

type declaration struct {
	Name            string `json:"name"`
	Description     string `json:"description,omitempty"`
	InputSchema     any    `json:"input_schema"`
	RequireApproval bool   `json:"require_approval,omitempty"`
	Idempotent      bool   `json:"idempotent,omitempty"`
	TimeoutMs       int64  `json:"timeout_ms,omitempty"`
}

// ToolOption is one more word about a tool: RequireApproval, Idempotent, Description, Timeout, InputSchema.
type ToolOption func(*declaration)

// RequireApproval has a person approve each call.
func RequireApproval(d *declaration) { d.RequireApproval = true }

// Idempotent says that calling twice does no harm.
func Idempotent(d *declaration) { d.Idempotent = true }

// Description is what models read.
func Description(text string) ToolOption { return func(d *declaration) { d.Description = text } }

// Timeout is how long a call may take, instead of the configured limit.
func Timeout(limit time.Duration) ToolOption {
	return func(d *declaration) { d.TimeoutMs = limit.Milliseconds() }
}

// InputSchema is the JSON Schema of the arguments, instead of the one made from the struct.
func InputSchema(schema string) ToolOption {
	return func(d *declaration) { d.InputSchema = json.RawMessage(schema) }
}

// Tool makes a function a tool of agents and workflows. The schema of its arguments comes from the fields of In: names by `json`, texts
// by `description`, choices by `enum:"a,b"`; what is a pointer or `omitempty` may be left out. A tool of the same name is replaced.
// The context ends when the result is no longer wanted.
func Tool[In, Out any](s *Studio, name string, function func(context.Context, In) (Out, error), options ...ToolOption) error {
	declared := declaration{Name: name, InputSchema: schemaOf(reflect.TypeFor[In](), nil)}
	for _, option := range options {
		option(&declared)
	}
	return s.host.tool(declared, func(ctx context.Context, call *HostCall) (any, error) {
		var payload struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		var in In
		err := json.Unmarshal(call.Payload, &payload)
		if err == nil && len(payload.Arguments) > 0 {
			err = json.Unmarshal(payload.Arguments, &in)
		}
		if err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", name, err)
		}
		return function(ctx, in)
	})
}

func toolKey(name string) string { return HostToolCall + " " + name }

func (h *host) tool(declared declaration, answer Answer) error {
	return h.change(func() {
		h.tools = append(slices.DeleteFunc(slices.Clone(h.tools), func(one declaration) bool { return one.Name == declared.Name }), declared)
		h.answers[toolKey(declared.Name)] = answer
	})
}
