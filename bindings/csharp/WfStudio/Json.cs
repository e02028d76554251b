// Owns the JSON of the C# side: objects to text and text to objects, without a library, so that Mono and .NET read the same.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.Reflection;
using System.Text;

namespace WfStudio
{
    /// <summary>Text that is JSON already.</summary>
    public sealed class RawJson
    {
        /// <summary>The text.</summary>
        public readonly string Text;
        /// <summary>Takes the text as it is.</summary>
        public RawJson(string text) { Text = text; }
    }

    /// <summary>Reads and writes JSON: dictionaries, lists, strings, numbers, booleans, null; any other object by its public properties.</summary>
    public static class Json
    {
        const int Deepest = 512;

        /// <summary>The text of a value.</summary>
        public static string Write(object value)
        {
            var text = new StringBuilder();
            Put(text, value, 0);
            return text.ToString();
        }

        static void Put(StringBuilder text, object value, int depth)
        {
            if (depth > Deepest) throw new ArgumentException("the value is nested too deeply, or contains itself");
            if (value == null) text.Append("null");
            else if (value is RawJson raw) text.Append(raw.Text);
            else if (value is string said) Quote(text, said);
            else if (value is bool yes) text.Append(yes ? "true" : "false");
            else if (value is double real) Finite(text, real, !double.IsNaN(real) && !double.IsInfinity(real));
            else if (value is float single) Finite(text, single, !float.IsNaN(single) && !float.IsInfinity(single));
            else if (value is DateTime time) Quote(text, time.ToUniversalTime().ToString("o", CultureInfo.InvariantCulture));
            else if (value is char || value is Guid || value is Uri || value is Enum) Quote(text, value.ToString());
            else if (value is IDictionary map) PutMembers(text, Entries(map), depth);
            else if (value is IEnumerable pairs && IsMap(value.GetType())) PutMembers(text, Entries(pairs), depth);
            else if (value is IEnumerable list) PutItems(text, list, depth);
            else if (value is IConvertible plain) text.Append(plain.ToString(CultureInfo.InvariantCulture));
            else PutMembers(text, Properties(value), depth);
        }

        static void Finite(StringBuilder text, IFormattable number, bool finite)
        {
            if (!finite) throw new ArgumentException("a number that is not finite has no JSON");
            text.Append(number.ToString("R", CultureInfo.InvariantCulture));
        }

        static IEnumerable<KeyValuePair<string, object>> Entries(IDictionary map)
        {
            foreach (DictionaryEntry entry in map) yield return new KeyValuePair<string, object>(Convert.ToString(entry.Key, CultureInfo.InvariantCulture), entry.Value);
        }

        // Of dictionaries that are none of the older kind, as ExpandoObject is.
        static IEnumerable<KeyValuePair<string, object>> Entries(IEnumerable pairs)
        {
            foreach (var pair in pairs)
            {
                var key = pair.GetType().GetProperty("Key");
                var value = pair.GetType().GetProperty("Value");
                if (key == null || value == null) throw new ArgumentException("a dictionary whose entries are no pairs has no JSON");
                yield return new KeyValuePair<string, object>(Convert.ToString(key.GetValue(pair, null), CultureInfo.InvariantCulture), value.GetValue(pair, null));
            }
        }

        static readonly ConcurrentDictionary<Type, bool> Maps = new ConcurrentDictionary<Type, bool>();

        // A type is asked once: that takes long, also for the types of lists.
        static bool IsMap(Type type) { return Maps.GetOrAdd(type, HasMembers); }

        static bool HasMembers(Type type)
        {
            return Array.Exists(type.GetInterfaces(), one => one.IsGenericType && (one.GetGenericTypeDefinition() == typeof(IDictionary<,>) || one.GetGenericTypeDefinition() == typeof(IReadOnlyDictionary<,>)));
        }

        static IEnumerable<KeyValuePair<string, object>> Properties(object value)
        {
            foreach (var property in value.GetType().GetProperties(BindingFlags.Public | BindingFlags.Instance))
            {
                if (property.CanRead && property.GetIndexParameters().Length == 0) yield return new KeyValuePair<string, object>(property.Name, property.GetValue(value, null));
            }
        }

        static void PutMembers(StringBuilder text, IEnumerable<KeyValuePair<string, object>> members, int depth)
        {
            var open = '{';
            foreach (var member in members)
            {
                text.Append(open);
                Quote(text, member.Key);
                text.Append(':');
                Put(text, member.Value, depth + 1);
                open = ',';
            }
            text.Append(open == '{' ? "{}" : "}");
        }

        static void PutItems(StringBuilder text, IEnumerable list, int depth)
        {
            var open = '[';
            foreach (var item in list)
            {
                text.Append(open);
                Put(text, item, depth + 1);
                open = ',';
            }
            text.Append(open == '[' ? "[]" : "]");
        }

        static void Quote(StringBuilder text, string said)
        {
            text.Append('"');
            foreach (var one in said)
            {
                if (one == '"' || one == '\\') text.Append('\\').Append(one);
                else if (one < ' ') text.AppendFormat(CultureInfo.InvariantCulture, "\\u{0:x4}", (int)one);
                else text.Append(one);
            }
            text.Append('"');
        }

        /// <summary>The value of a text: Dictionary, List, string, long, double, bool or null; ulong where a whole number is too large for long.</summary>
        public static object Read(string text)
        {
            var at = 0;
            var value = Value(text, ref at, 0);
            Blank(text, ref at);
            if (at != text.Length) throw Wrong(at);
            return value;
        }

        /// <summary>The members of a text that is an object; none of any other.</summary>
        public static Dictionary<string, object> Object(string text)
        {
            return Read(text) as Dictionary<string, object> ?? new Dictionary<string, object>();
        }

        static FormatException Wrong(int at) { return new FormatException("this is not JSON, from character " + at); }

        static void Blank(string text, ref int at)
        {
            while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0) at++;
        }

        static bool Taken(string text, ref int at, char wanted)
        {
            Blank(text, ref at);
            if (at >= text.Length || text[at] != wanted) return false;
            at++;
            return true;
        }

        static object Value(string text, ref int at, int depth)
        {
            if (depth > Deepest) throw Wrong(at);
            Blank(text, ref at);
            if (at >= text.Length) throw Wrong(at);
            switch (text[at])
            {
                case '{': return Members(text, ref at, depth);
                case '[': return Items(text, ref at, depth);
                case '"': return Said(text, ref at);
                case 't': return Word(text, ref at, "true", true);
                case 'f': return Word(text, ref at, "false", false);
                case 'n': return Word(text, ref at, "null", null);
                default: return Number(text, ref at);
            }
        }

        static object Word(string text, ref int at, string word, object value)
        {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) throw Wrong(at);
            at += word.Length;
            return value;
        }

        static object Number(string text, ref int at)
        {
            var begin = at;
            while (at < text.Length && "+-.0123456789eE".IndexOf(text[at]) >= 0) at++;
            var part = text.Substring(begin, at - begin);
            if (long.TryParse(part, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var whole)) return whole;
            if (ulong.TryParse(part, NumberStyles.None, CultureInfo.InvariantCulture, out var large)) return large;
            if (double.TryParse(part, NumberStyles.Float, CultureInfo.InvariantCulture, out var number)) return number;
            throw Wrong(begin);
        }

        static Dictionary<string, object> Members(string text, ref int at, int depth)
        {
            var members = new Dictionary<string, object>();
            at++;
            if (Taken(text, ref at, '}')) return members;
            do
            {
                Blank(text, ref at);
                if (at >= text.Length || text[at] != '"') throw Wrong(at);
                var name = Said(text, ref at);
                if (!Taken(text, ref at, ':')) throw Wrong(at);
                members[name] = Value(text, ref at, depth + 1);
            } while (Taken(text, ref at, ','));
            if (!Taken(text, ref at, '}')) throw Wrong(at);
            return members;
        }

        static List<object> Items(string text, ref int at, int depth)
        {
            var items = new List<object>();
            at++;
            if (Taken(text, ref at, ']')) return items;
            do items.Add(Value(text, ref at, depth + 1)); while (Taken(text, ref at, ','));
            if (!Taken(text, ref at, ']')) throw Wrong(at);
            return items;
        }

        static readonly char[] Ends = { '"', '\\' };

        static string Said(string text, ref int at)
        {
            var begin = ++at;
            var end = text.IndexOfAny(Ends, at);
            if (end >= 0 && text[end] == '"')
            {
                at = end + 1;
                return text.Substring(begin, end - begin);
            }
            var said = new StringBuilder();
            for (; end >= 0 && text[end] != '"'; end = text.IndexOfAny(Ends, ++at))
            {
                said.Append(text, at, end - at);
                if ((at = end + 1) >= text.Length) throw Wrong(at);
                var plain = "\"\\/bfnrt".IndexOf(text[at]);
                if (plain >= 0) said.Append("\"\\/\b\f\n\r\t"[plain]);
                else if (text[at] == 'u' && at + 4 < text.Length && ushort.TryParse(text.Substring(at + 1, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var code))
                {
                    said.Append((char)code);
                    at += 4;
                }
                else throw Wrong(at);
            }
            if (end < 0) throw Wrong(text.Length);
            said.Append(text, at, end - at);
            at = end + 1;
            return said.ToString();
        }
    }
}
