package wfstudio

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

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
