package wfstudio

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

var (
	timeType   = reflect.TypeFor[time.Time]()
	numberType = reflect.TypeFor[json.Number]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
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
	within := len(inside) > 0 || kind.Kind() != reflect.Struct
	switch {
	case kind == timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case kind == numberType:
		return map[string]any{"type": "number"}
	// Only the type knows what it reads. The arguments as a whole are members all the same, often with defaults for those that are missing.
	case reflect.PointerTo(kind).Implements(jsonReader) && within:
		return map[string]any{}
	case reflect.PointerTo(kind).Implements(textReader) && within:
		return map[string]any{"type": "string"}
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
		if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Uint8 {
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
		embedded := field.Anonymous && name == "" && structOf(field.Type) != nil
		if embedded || !field.IsExported() || field.Tag.Get("json") == "-" || !promoted(kind, field.Index) {
			continue
		}
		if name == "" {
			name = field.Name
		}
		schema := schemaOf(field.Type, inside)
		if plain := schema["type"]; plain != nil && plain != "object" && plain != "array" && slices.Contains(strings.Split(options, ","), "string") {
			schema = map[string]any{"type": "string"} // as encoding/json quotes it
		}
		if text := field.Tag.Get("description"); text != "" {
			schema["description"] = text
		}
		if choices := field.Tag.Get("enum"); choices != "" {
			choose(schema, strings.Split(choices, ","))
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

// choose says what may be chosen; of a list, for each of its items.
func choose(schema map[string]any, choices []string) {
	if items, is := schema["items"].(map[string]any); is {
		schema = items
	}
	values := []any{}
	for _, choice := range choices {
		switch kind := schema["type"]; {
		case (kind == "integer" || kind == "number" || kind == "boolean") && json.Valid([]byte(choice)):
			values = append(values, json.RawMessage(choice))
		default:
			values = append(values, choice)
		}
	}
	schema["enum"] = values
}

// promoted is false for a field of an embedded struct that has a name of its own in JSON, or none.
func promoted(kind reflect.Type, index []int) bool {
	for _, at := range index[:len(index)-1] {
		outer := structOf(kind).Field(at)
		if name, _, _ := strings.Cut(outer.Tag.Get("json"), ","); name != "" {
			return false
		}
		kind = outer.Type
	}
	return true
}

func structOf(kind reflect.Type) reflect.Type {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct {
		return nil
	}
	return kind
}
