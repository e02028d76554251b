// Owns JSON as text and as maps, lists, strings, numbers, booleans and null: what this package speaks, without a library of others.

package wfstudio;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** JSON. Whole numbers are read as {@link Long}, larger ones as {@link BigInteger}, all others as {@link Double}. */
public final class Json {
    private static final int DEEPEST = 512;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads a text. */
    public static Object read(String text) {
        Json reader = new Json(text);
        Object value = reader.value(0);
        if (reader.peek() != 0) {
            throw reader.wrong("more follows");
        }
        return value;
    }

    /** Reads an object; nothing and {@code null} are an empty one. */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> object(String text) {
        Object value = text.isEmpty() ? null : read(text);
        if (value == null) {
            return Map.of();
        }
        if (value instanceof Map<?, ?> map) {
            return (Map<String, Object>) map;
        }
        throw new IllegalArgumentException("a JSON object is expected");
    }

    /** Writes maps, iterables, arrays, records, enums, texts, numbers, booleans, null. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value, 0);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value, int depth) {
        if (depth > DEEPEST) {
            throw new IllegalArgumentException("the value is nested more than " + DEEPEST + " times, or holds itself");
        }
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof CharSequence || value instanceof Character || value instanceof Enum<?> || value instanceof java.util.UUID) {
            string(out, value instanceof Enum<?> one ? one.name() : value.toString());
        } else if (value instanceof Number number) {
            number(out, number);
        } else if (value instanceof Optional<?> optional) {
            write(out, optional.orElse(null), depth);
        } else if (value instanceof Map<?, ?> map) {
            object(out, map, depth);
        } else if (value instanceof Iterable<?> list) {
            list(out, list, depth);
        } else if (value.getClass().isArray()) {
            List<Object> list = new ArrayList<>();
            for (int index = 0; index < Array.getLength(value); index++) {
                list.add(Array.get(value, index));
            }
            list(out, list, depth);
        } else if (value instanceof Record record) {
            object(out, Schema.members(record), depth);
        } else if (value.getClass().getName().matches("kotlin\\.U(Long|Int|Short|Byte)")) {
            out.append(value);
        } else if (value.getClass().getName().startsWith("java.time.") || value instanceof java.net.URI) {
            string(out, value.toString());
        } else {
            throw new IllegalArgumentException("a " + value.getClass().getName() + " cannot be written as JSON");
        }
    }

    private static void number(StringBuilder out, Number number) {
        double real = number.doubleValue();
        boolean exact = number instanceof BigDecimal || number instanceof BigInteger;
        if (!exact && (Double.isNaN(real) || Double.isInfinite(real))) {
            throw new IllegalArgumentException(number + " is no number of JSON");
        }
        out.append(number);
    }

    private static void object(StringBuilder out, Map<?, ?> map, int depth) {
        String separator = "{";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(separator);
            string(out, String.valueOf(entry.getKey()));
            out.append(':');
            write(out, entry.getValue(), depth + 1);
            separator = ",";
        }
        out.append(map.isEmpty() ? "{}" : "}");
    }

    private static void list(StringBuilder out, Iterable<?> list, int depth) {
        out.append('[');
        String separator = "";
        for (Object item : list) {
            out.append(separator);
            write(out, item, depth + 1);
            separator = ",";
        }
        out.append(']');
    }

    private static void string(StringBuilder out, String text) {
        out.append('"');
        for (int index = 0; index < text.length(); index++) {
            char letter = text.charAt(index);
            if (letter == '"' || letter == '\\') {
                out.append('\\').append(letter);
            } else if (letter < ' ') {
                out.append(String.format("\\u%04x", (int) letter));
            } else if (Character.isSurrogate(letter)) {
                boolean pair = Character.isHighSurrogate(letter) && index + 1 < text.length() && Character.isLowSurrogate(text.charAt(index + 1));
                if (!pair) {
                    throw new IllegalArgumentException("a text with half a character (a lone surrogate) cannot be written as JSON");
                }
                out.append(letter).append(text.charAt(++index));
            } else {
                out.append(letter);
            }
        }
        out.append('"');
    }

    /** The next letter that is no blank, not taken; 0 at the end. */
    private char peek() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("this is not JSON: " + what + " at character " + at);
    }

    private Object value(int depth) {
        if (depth > DEEPEST) {
            throw wrong("too deep");
        }
        return switch (peek()) {
            case '{' -> object(depth);
            case '[' -> list(depth);
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong("an unknown word");
        }
        at += word.length();
        return value;
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> map = new LinkedHashMap<>();
        at++;
        for (boolean first = true; !ends('}', first); first = false) {
            if (peek() != '"') {
                throw wrong("a name is missing");
            }
            String name = string();
            if (peek() != ':') {
                throw wrong("a colon is missing");
            }
            at++;
            map.put(name, value(depth + 1));
        }
        return map;
    }

    private List<Object> list(int depth) {
        List<Object> list = new ArrayList<>();
        at++;
        for (boolean first = true; !ends(']', first); first = false) {
            list.add(value(depth + 1));
        }
        return list;
    }

    /** Takes the end of an object or a list, or the comma before its next member. */
    private boolean ends(char end, boolean first) {
        char next = peek();
        if (next == end) {
            at++;
            return true;
        }
        if (!first) {
            if (next != ',') {
                throw wrong("a comma is missing");
            }
            at++;
            if (peek() == end) {
                throw wrong("a comma is too many");
            }
        }
        return false;
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        for (at++; ; at++) {
            if (at >= text.length()) {
                throw wrong("a text without an end");
            }
            char letter = text.charAt(at);
            if (letter == '"') {
                at++;
                return out.toString();
            }
            if (letter < ' ') {
                throw wrong("a control character in a text");
            }
            out.append(letter == '\\' ? escaped() : letter);
        }
    }

    private char escaped() {
        at++;
        char letter = at < text.length() ? text.charAt(at) : 0;
        int known = "\"\\/bfnrt".indexOf(letter);
        if (known >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(known);
        }
        if (letter != 'u' || at + 4 >= text.length() || !text.substring(at + 1, at + 5).matches("[0-9a-fA-F]{4}")) {
            throw wrong("an unknown escape");
        }
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
    }

    private Object number() {
        int begun = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String number = text.substring(begun, at);
        if (!number.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
            at = begun;
            throw wrong(number.isEmpty() ? "a value is missing" : "a number of another kind");
        }
        if (number.matches("-?[0-9]+")) {
            return number.length() < 19 ? (Object) Long.valueOf(number) : whole(new BigInteger(number));
        }
        double real = Double.parseDouble(number);
        return Double.isInfinite(real) ? new BigDecimal(number) : (Object) real;
    }

    private static Number whole(BigInteger number) {
        return number.bitLength() < 64 ? (Number) number.longValue() : number;
    }
}
