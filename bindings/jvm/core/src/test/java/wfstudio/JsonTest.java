// Owns proof that JSON is read and written as it is.

package wfstudio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    private record Pair(String name, Optional<Integer> count) {}

    @ParameterizedTest
    @ValueSource(strings = {"{}", "[]", "\"\"", "null", "true", "[1,-2,0,9223372036854775807,18446744073709551615,0.5]", "{\"a\":{\"b\":[{}]}}", "\"\\\"\\\\Grüße 🌍\\u0001\""})
    void whatIsReadIsWrittenAgain(String text) {
        assertEquals(text, Json.write(Json.read(text)));
    }

    @Test
    void valuesOfJavaAreWritten() {
        assertEquals("[1,2.5,1.10,\"a\",\"FIRST\",[1,2],{\"name\":\"x\",\"count\":null},null]",
            Json.write(Arrays.asList(1, 2.5, new BigDecimal("1.10"), 'a', Order.FIRST, new int[] {1, 2}, new Pair("x", Optional.empty()), null)));
        assertEquals(BigInteger.ONE.shiftLeft(63), Json.read("9223372036854775808"));
        assertEquals("é/\n", Json.read(" \"\\u00e9\\/\\n\" "));
        assertEquals(10.0, Json.read("1e1"));
    }

    private enum Order {
        FIRST
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[1,]", "{\"a\":1,}", "{a:1}", "01", "1.", "+1", "\"\n\"", "\"\\x\"", "\"\\u12", "nul", "1 2", "[1 2]", "\"", "-", "{\"a\" 1}", "\u00a01"})
    void whatIsNoJsonIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.read(text));
    }

    @Test
    void whatCannotBeWrittenIsRefused() {
        List<Object> itself = new ArrayList<>();
        itself.add(itself);
        for (Object odd : new Object[] {Double.NaN, Float.POSITIVE_INFINITY, "\ud83c", "\udf0d", itself, new Object(), Map.of("a", new Object())}) {
            assertThrows(IllegalArgumentException.class, () -> Json.write(odd));
        }
        assertThrows(IllegalArgumentException.class, () -> Json.read("[".repeat(100_000)));
    }

    private record Order2(String id, int pieces, List<Pair> pairs, Order order) {}

    @Test
    void recordsAreMadeFromMaps() {
        Object made = Schema.value(Json.read("{\"id\":\"a\",\"pieces\":2,\"pairs\":[{\"name\":\"x\",\"count\":3}],\"order\":\"FIRST\",\"more\":1}"), Order2.class, "");
        assertEquals(new Order2("a", 2, List.of(new Pair("x", Optional.of(3))), Order.FIRST), made);
        assertEquals("`pieces` is missing", assertThrows(HostFailure.class, () -> Schema.value(Map.of("id", "a"), Order2.class, "")).getMessage());
        assertEquals("`pieces` is no int", assertThrows(HostFailure.class, () -> Schema.value(Map.of("id", "a", "pieces", 1.5), Order2.class, "")).getMessage());
        assertEquals("`pieces` is too large: 99999999999", assertThrows(HostFailure.class, () -> Schema.value(Map.of("id", "a", "pieces", 99999999999L), Order2.class, "")).getMessage());
        assertEquals("`pairs.0.name` is no String", assertThrows(HostFailure.class, () -> Schema.value(Json.read("{\"pieces\":1,\"pairs\":[{\"name\":1}]}"), Order2.class, "")).getMessage());
    }
}
