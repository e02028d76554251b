// The host of the conformance scenario, on HttpListener: bindings/conformance/README.md says what it offers.
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using WfStudio;
using Map = System.Collections.Generic.Dictionary<string, object>;

static class ConformanceHost
{
    const string OrderSchema = "{\"type\":\"object\",\"properties\":{\"order_id\":{\"type\":\"string\"}},\"required\":[\"order_id\"]}";
    const string RefundSchema = "{\"type\":\"object\",\"properties\":{\"order_id\":{\"type\":\"string\"},\"amount\":{\"type\":\"integer\"}},\"required\":[\"order_id\",\"amount\"]}";
    static readonly List<object> Journal = new List<object>();
    static Studio studio;

    [DllImport("libc", EntryPoint = "_exit")] static extern void ExitNow(int code);

    static object Of(Map map, string name) { return map != null && map.TryGetValue(name, out var found) ? found : null; }
    static void Note(object entry) { lock (Journal) Journal.Add(entry); }

    static void Tool(string name, string description, string schema, string more, Func<HostCall, Task<object>> does)
    {
        studio.Tool("{\"name\":\"" + name + "\",\"description\":\"" + description + "\",\"input_schema\":" + schema + more + "}", call =>
        {
            Note(new { op = call.Op, name, arguments = call.Arguments, tenant = Of(call.Payload, "tenant"), user = Of(call.Payload, "user") });
            return does(call);
        });
    }

    static void Declare()
    {
        Tool("lookup", "Looks an order up", OrderSchema, ",\"idempotent\":true", call => Task.FromResult<object>(new { note = "Grüße, <b>&</b> 🌍", order_id = call.Arguments["order_id"], status = "shipped" }));
        Tool("refund", "Pays an order back", RefundSchema, ",\"require_approval\":true", call => Task.FromResult<object>(new { order_id = call.Arguments["order_id"], refunded = call.Arguments["amount"] }));
        Tool("refuse", "Always refuses", OrderSchema, "", call => throw new InvalidOperationException("the order is closed"));
        Tool("explode", "Always throws", OrderSchema, "", call => throw new Exception("boom"));
        Tool("slow", "Takes its time", OrderSchema, ",\"timeout_ms\":20000", async call =>
        {
            try { await Task.Delay(15000, call.Cancelled); }
            catch (OperationCanceledException) { Note(new { op = "cancelled", name = "slow" }); }
            return null;
        });
        studio.Answer(HostOp.Gate, call =>
        {
            Note(new { op = call.Op, method = Of(call.Payload, "method"), path = Of(call.Payload, "path"), user = Of(call.Payload, "user") });
            return Task.FromResult<object>(new { allow = Of(Of(call.Payload, "user") as Map, "id") as string == "ada" });
        });
        studio.Answer(HostOp.SecretGet, call =>
        {
            Note(new { op = call.Op, name = Of(call.Payload, "name"), tenant = Of(call.Payload, "tenant") });
            if (Of(call.Payload, "name") as string != "PEER_KEY") throw new Exception("no such secret");
            return Task.FromResult<object>(new { value = "key-of-the-peer" });
        });
        studio.Answer(HostOp.ProviderChat, call =>
        {
            var last = "";
            foreach (Map message in (List<object>)call.Payload["messages"]) if (Of(message, "role") as string == "user" && Of(message, "content") is string text) last = text;
            Note(new { op = call.Op, model = Of(call.Payload, "model"), last });
            if (Of(call.Payload, "model") as string == "mute") throw new Exception("the model is away");
            foreach (var part in new[] { "You ", "said: ", last }) call.Chunk(new { delta = part });
            return Task.FromResult<object>(new { message = new { role = "assistant", content = "You said: " + last }, usage = new { prompt_tokens = 7, completion_tokens = 5 }, finish_reason = "stop" });
        });
    }

    static void Marks(HttpListenerRequest from, StudioRequest request)
    {
        if (from.Headers["X-User"] is string id) request.User = new { id };
        if (from.Headers["X-Gate"] is string gate) request.Gate = gate == "open";
        request.Tenant = from.Headers["X-Tenant"];
        request.Authorized = from.Headers["X-Authorized"] == "yes";
    }

    static object Told(StudioException failure) { return new { error = (int)failure.Code, problem = failure.Name }; }

    static async Task<string> Run(Map asked)
    {
        var lines = new List<object>();
        try
        {
            using (var stream = asked.ContainsKey("resume") ? studio.Resume(asked["resume"]) : studio.Run(asked["run"]))
            {
                object last = new { end = true };
                var cancelled = false;
                int counted = 0, tokens = 0;
                var counts = true.Equals(Of(asked, "count"));
                for (StudioEvent next; (next = await stream.NextAsync()) != null;)
                {
                    if (counts)
                    {
                        counted++;
                        if (next.Name == EventName.Token) tokens++;
                        continue;
                    }
                    lines.Add(new Map { { "event", next.Name }, { "data", new RawJson(next.Data) } });
                    if (next.Name == Of(asked, "leave_after") as string) { last = new { left = true }; break; }
                    if (next.Name != Of(asked, "cancel_after") as string || cancelled) continue;
                    cancelled = true;
                    stream.Cancel();
                }
                if (counts) lines.Add(new { counted, tokens });
                lines.Add(last);
            }
        }
        catch (StudioException failure) { lines.Add(Told(failure)); }
        return string.Concat(lines.ConvertAll(line => Json.Write(line) + "\n"));
    }

    static async Task<string> Own(string path, Map asked)
    {
        switch (path)
        {
            case "/own/ping": return "pong";
            case "/own/journal": lock (Journal) { var all = Json.Write(Journal); Journal.Clear(); return all; }
            case "/own/run": return await Run(asked);
            case "/own/call":
                try { return "{\"result\":" + await studio.CallAsync((string)asked["op"], Of(asked, "request")) + "}"; }
                catch (StudioException failure) { return Json.Write(Told(failure)); }
            case "/own/close": try { studio.Close(2000); } catch (StudioException) { } return "{\"closed\":true}";
            case "/own/crash":
                if (asked["how"] as string == "exit") Environment.Exit(0);
                if (asked["how"] as string == "now") ExitNow(70);
                new Thread(() => throw new Exception("nobody catches this")).Start();
                return "{}";
            default: return null;
        }
    }

    static async Task Answer(HttpListenerContext context)
    {
        if (studio.Owns(context.Request)) { await studio.AnswerAsync(context, Marks); return; }
        var text = await new StreamReader(context.Request.InputStream, Encoding.UTF8).ReadToEndAsync();
        var path = context.Request.RawUrl.Split('?')[0];
        var said = await Own(path, text == "" ? new Map() : Json.Object(text));
        context.Response.StatusCode = said == null ? 404 : 200;
        context.Response.ContentType = path == "/own/ping" ? "text/plain" : path == "/own/run" ? "application/x-ndjson" : "application/json";
        var bytes = Encoding.UTF8.GetBytes(said ?? "");
        context.Response.Close(bytes, false);
    }

    static void Main()
    {
        studio = Studio.Open(File.ReadAllText(Environment.GetEnvironmentVariable("CONFIG")));
        Declare();
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + Environment.GetEnvironmentVariable("PORT") + "/");
        listener.Start();
        while (true)
        {
            var context = listener.GetContext();
            Task.Run(() => Answer(context));
        }
    }
}
