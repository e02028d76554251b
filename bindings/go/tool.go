package wfstudio

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
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
	h.mutex.Lock()
	defer h.mutex.Unlock()
	before, tools := h.answers[toolKey(declared.Name)], h.tools
	h.tools = nil
	for _, one := range tools {
		if one.Name != declared.Name {
			h.tools = append(h.tools, one)
		}
	}
	h.tools = append(h.tools, declared)
	h.answers[toolKey(declared.Name)] = answer
	err := h.declare()
	if err != nil { // the engine still has what was declared before
		h.tools, h.answers[toolKey(declared.Name)] = tools, before
	}
	return err
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// schemaOf is the JSON Schema of a type; what cannot be told, or contains itself, may be anything.
func schemaOf(kind reflect.Type, inside []reflect.Type) map[string]any {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	for _, outer := range inside {
		if outer == kind {
			return map[string]any{}
		}
	}
	switch {
	case kind == timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case kind == rawType:
		return map[string]any{}
	}
	switch kind.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		if kind.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string"} // base 64, as encoding/json has it
		}
		return map[string]any{"type": "array", "items": schemaOf(kind.Elem(), append(inside, kind))}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(kind.Elem(), append(inside, kind))}
	case reflect.Struct:
		return structSchema(kind, append(inside, kind))
	default:
		return map[string]any{}
	}
}

func structSchema(kind reflect.Type, inside []reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(kind) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" || !field.IsExported() || field.Tag.Get("json") == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		schema := schemaOf(field.Type, inside)
		if text := field.Tag.Get("description"); text != "" {
			schema["description"] = text
		}
		if choices := field.Tag.Get("enum"); choices != "" {
			schema["enum"] = strings.Split(choices, ",")
		}
		properties[name] = schema
		if field.Type.Kind() != reflect.Pointer && !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}
