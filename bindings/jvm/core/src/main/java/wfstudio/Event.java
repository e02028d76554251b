// Owns one event of a run, and how events are found in server-sent text.

package wfstudio;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An event: its name ({@link Names.Event}), its place in the run, its data as JSON. */
public final class Event {
    private static final String EVENT = "\nevent: ";
    private final String id;
    private final String name;
    private final String text;
    private Map<String, Object> data;

    Event(String id, String name, String text) {
        this.id = id;
        this.name = name;
        this.text = text;
    }

    /** What happened, such as {@code step_started}. */
    public String name() {
        return name;
    }

    /** Where a stream can be taken up again after this event. */
    public String id() {
        return id;
    }

    /** The data as it came, for a mapper of your own. */
    public String text() {
        return text;
    }

    /** The data. */
    public Map<String, Object> data() {
        if (data == null) {
            data = Json.object(text);
        }
        return data;
    }

    /** A member of the data. */
    public Object get(String member) {
        return data().get(member);
    }

    @Override
    public String toString() {
        return name + " " + text;
    }

    /** The events in whole frames, three lines each; what is no event (the retry time, comments) is left out. */
    static List<Event> read(byte[] frames) {
        List<Event> events = new ArrayList<>();
        String text = new String(frames, StandardCharsets.UTF_8);
        for (int name = text.indexOf(EVENT), end; name >= 0; name = text.indexOf(EVENT, end)) {
            int id = text.lastIndexOf('\n', name - 1) + 1;
            int data = text.indexOf('\n', name + 1);
            end = text.indexOf('\n', data + 1);
            end = end < 0 ? text.length() : end;
            String place = text.startsWith("id: ", id) ? text.substring(id + 4, name) : null;
            events.add(new Event(place, text.substring(name + EVENT.length(), data), text.substring(data + "\ndata: ".length(), end)));
        }
        return events;
    }
}
