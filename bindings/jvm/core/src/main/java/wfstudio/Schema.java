// Owns the way between records and JSON: the schema of a record's components, a record from a map, a map from a record.

package wfstudio;

import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Schemas of Java types. */
public final class Schema {
    private Schema() {}

    /** The JSON Schema of a type: texts, numbers, booleans, enums, lists, maps, optionals, records of these. */
    public static Map<String, Object> of(Type type) {
        return of(type, new ArrayList<>());
    }

    private static Map<String, Object> of(Type type, List<Class<?>> inside) {
        Class<?> raw = raw(type);
        if (raw == Optional.class) {
            return of(argument(type, 0), inside);
        }
        if (CharSequence.class.isAssignableFrom(raw) || raw == char.class || raw == Character.class) {
            return Map.of("type", "string");
        }
        if (raw == boolean.class || raw == Boolean.class) {
            return Map.of("type", "boolean");
        }
        if (List.of(byte.class, short.class, int.class, long.class, Byte.class, Short.class, Integer.class, Long.class, BigInteger.class).contains(raw)) {
            return Map.of("type", "integer");
        }
        if (List.of(float.class, double.class).contains(raw) || Number.class.isAssignableFrom(raw)) {
            return Map.of("type", "number");
        }
        if (raw.isEnum()) {
            return object("type", "string", "enum", Arrays.stream(raw.getEnumConstants()).map(one -> ((Enum<?>) one).name()).toList());
        }
        if (Collection.class.isAssignableFrom(raw) || raw == Iterable.class) {
            return object("type", "array", "items", of(argument(type, 0), inside));
        }
        if (raw.isArray()) {
            return object("type", "array", "items", of(raw.getComponentType(), inside));
        }
        if (Map.class.isAssignableFrom(raw)) {
            return Map.of("type", "object");
        }
        if (raw.isRecord()) {
            return record(raw, inside);
        }
        if (raw == Object.class) {
            return Map.of();
        }
        throw new IllegalArgumentException("there is no schema for " + type.getTypeName() + "; give one as a map");
    }

    private static Map<String, Object> record(Class<?> record, List<Class<?>> inside) {
        if (inside.contains(record)) {
            throw new IllegalArgumentException(record.getName() + " holds itself; give its schema as a map");
        }
        List<Class<?>> deeper = new ArrayList<>(inside);
        deeper.add(record);
        Map<String, Object> properties = new LinkedHashMap<>();
        List<String> required = new ArrayList<>();
        for (RecordComponent component : record.getRecordComponents()) {
            properties.put(component.getName(), of(component.getGenericType(), deeper));
            if (component.getType() != Optional.class) {
                required.add(component.getName());
            }
        }
        return object("type", "object", "properties", properties, "required", required);
    }

    /** An object's schema from its members in order. */
    public static Map<String, Object> object(Map<String, Object> properties, List<String> required) {
        return object("type", "object", "properties", properties, "required", required);
    }

    private static Map<String, Object> object(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int index = 0; index < pairs.length; index += 2) {
            map.put((String) pairs[index], pairs[index + 1]);
        }
        return map;
    }

    /** A value as JSON has it, as a value of a type. */
    public static Object value(Object json, Type type, String where) {
        Class<?> raw = raw(type);
        if (raw == Optional.class) {
            return json == null ? Optional.empty() : Optional.of(value(json, argument(type, 0), where));
        }
        if (json == null) {
            if (raw.isPrimitive()) {
                throw new HostFailure("`" + where + "` is missing");
            }
            return null;
        }
        if (json instanceof Number number) {
            Object found = number(number, raw, where);
            if (found != null) {
                return found;
            }
        }
        if (json instanceof String text && raw.isEnum()) {
            Object[] known = raw.getEnumConstants();
            return Arrays.stream(known).filter(one -> ((Enum<?>) one).name().equals(text)).findFirst().orElseThrow(() -> wrong(where, raw));
        }
        if (json instanceof Map<?, ?> map && raw.isRecord()) {
            return record(map, raw, where);
        }
        if (json instanceof List<?> list && raw.isAssignableFrom(List.class)) {
            Type item = raw == Object.class ? Object.class : argument(type, 0);
            List<Object> values = new ArrayList<>();
            for (Object one : list) {
                values.add(value(one, item, where + "." + values.size()));
            }
            return values;
        }
        if (raw.isInstance(json) || raw == boolean.class && json instanceof Boolean) {
            return json;
        }
        throw wrong(where, raw);
    }

    private static Object number(Number number, Class<?> raw, String where) {
        boolean whole = number instanceof Long || number instanceof BigInteger || number.doubleValue() == Math.rint(number.doubleValue());
        BigDecimal exact = number instanceof BigDecimal big ? big : new BigDecimal(number.toString());
        try {
            if (raw == double.class || raw == Double.class) {
                return number.doubleValue();
            } else if (raw == float.class || raw == Float.class) {
                return number.floatValue();
            } else if (raw == BigDecimal.class) {
                return exact;
            } else if (!whole) {
                return raw.isInstance(number) ? number : null;
            } else if (raw == long.class || raw == Long.class) {
                return exact.longValueExact();
            } else if (raw == int.class || raw == Integer.class) {
                return exact.intValueExact();
            } else if (raw == short.class || raw == Short.class) {
                return exact.shortValueExact();
            } else if (raw == byte.class || raw == Byte.class) {
                return exact.byteValueExact();
            } else if (raw == BigInteger.class) {
                return exact.toBigIntegerExact();
            }
        } catch (ArithmeticException tooLarge) {
            throw new HostFailure("`" + where + "` is too large: " + number);
        }
        return null;
    }

    private static Object record(Map<?, ?> map, Class<?> type, String where) {
        RecordComponent[] components = type.getRecordComponents();
        Object[] values = new Object[components.length];
        for (int index = 0; index < components.length; index++) {
            String name = components[index].getName();
            values[index] = value(map.get(name), components[index].getGenericType(), where.isEmpty() ? name : where + "." + name);
        }
        try {
            Constructor<?> made = type.getDeclaredConstructor(Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
            made.setAccessible(true);
            return made.newInstance(values);
        } catch (java.lang.reflect.InvocationTargetException refused) {
            throw new HostFailure("the arguments were refused: " + refused.getCause().getMessage());
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalArgumentException("a record " + type.getName() + " cannot be made", impossible);
        }
    }

    static Map<String, Object> members(Record record) {
        Map<String, Object> members = new LinkedHashMap<>();
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            try {
                component.getAccessor().setAccessible(true);
                members.put(component.getName(), component.getAccessor().invoke(record));
            } catch (ReflectiveOperationException impossible) {
                throw new IllegalArgumentException("a record " + record.getClass().getName() + " cannot be read", impossible);
            }
        }
        return members;
    }

    private static HostFailure wrong(String where, Class<?> wanted) {
        return new HostFailure("`" + where + "` is no " + wanted.getSimpleName());
    }

    private static Class<?> raw(Type type) {
        if (type instanceof Class<?> plain) {
            return plain;
        }
        return type instanceof ParameterizedType parameterized ? (Class<?>) parameterized.getRawType() : Object.class;
    }

    private static Type argument(Type type, int index) {
        return type instanceof ParameterizedType parameterized ? parameterized.getActualTypeArguments()[index] : Object.class;
    }
}
