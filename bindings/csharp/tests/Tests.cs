// Owns proof of the C# side, as a program that Mono runs: JSON, the loader, runs, tools, HTTP, closing at any moment.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using WfStudio;
using Map = System.Collections.Generic.Dictionary<string, object>;

static class Tests
{
    static readonly string Folder = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), "wfstudio-" + Guid.NewGuid())).FullName;

    static void Check(bool so, string what)
    {
        if (!so) throw new Exception("not so: " + what);
    }

    static StudioCode Failure(Action does)
    {
        try { does(); }
        catch (StudioException failure) { return failure.Code; }
        return 0;
    }

    static Studio Opened(string name)
    {
        return Studio.Open(new { environment = "local", default_provider = "script", default_model = "echo", database = new { path = Path.Combine(Folder, name + ".sqlite") } });
    }

    static void Save(Studio studio, string slug, string kind, Map data)
    {
        data["output_key"] = "said";
        Func<string, string, Map, object> at = (id, type, more) => new { id, type, position = new { x = 0, y = 0 }, data = more };
        Func<string, string, string, object> edge = (id, source, target) => new { id, source, target, sourceHandle = "default", targetHandle = "default" };
        var nodes = new[] { at("start", "start", new Map()), at("it", kind, data), at("stop", "stop", new Map { { "reply", "{{said}}" } }) };
        studio.Call(Op.WorkflowSave, new { slug, name = slug, graph = new { version = 1, nodes, edges = new[] { edge("a", "start", "it"), edge("b", "it", "stop") } } });
    }

    static void Echo(Studio studio) { Save(studio, "echo", "llm", new Map { { "provider", "script" }, { "model", "echo" }, { "prompt", "{{input}}" }, { "stream", true } }); }

    static void JsonIsReadAndWritten()
    {
        var text = "{\"a\":[1,-2.5,true,null,\"\\\"\\\\\\n\\u00fc🌍\"],\"b\":{},\"c\":[]}";
        var read = (Map)Json.Read(text);
        var list = (List<object>)read["a"];
        Check((long)list[0] == 1 && (double)list[1] == -2.5 && (bool)list[2] && list[3] == null && (string)list[4] == "\"\\\nü🌍", "values");
        Check(Json.Write(read) == "{\"a\":[1,-2.5,true,null,\"\\\"\\\\\\u000aü🌍\"],\"b\":{},\"c\":[]}", Json.Write(read));
        Check(Json.Write(new { refunded = 25m, at = 'x' }) == "{\"refunded\":25,\"at\":\"x\"}", "an anonymous object");
        // Dictionaries of every kind, also without members; a whole number that a long cannot hold.
        IDictionary<string, object> open = new System.Dynamic.ExpandoObject();
        Check(Json.Write(open) == "{}", "an empty object that grows: " + Json.Write(open));
        open["id"] = ulong.MaxValue;
        Check(Json.Write(open) == "{\"id\":18446744073709551615}", "an object that grows: " + Json.Write(open));
        Check(Json.Write(Json.Read(Json.Write(open))) == Json.Write(open), "a large number");
        Check(Json.Write(new Listed { ["id"] = 7 }) == "{\"id\":7}", "a dictionary that is a list too: " + Json.Write(new Listed { ["id"] = 7 }));
        foreach (var wrong in new[] { "", "{", "[1,]", "{\"a\"}", "tru", "\"\\x\"", "1 2", new string('[', 999) })
        {
            var refused = false;
            try { Json.Read(wrong); }
            catch (FormatException) { refused = true; }
            Check(refused, wrong);
        }
        foreach (var wrong in new object[] { double.NaN, Loop() })
        {
            var refused = false;
            try { Json.Write(wrong); }
            catch (ArgumentException) { refused = true; }
            Check(refused, "no JSON");
        }
    }

    // As the objects of some JSON libraries are.
    sealed class Listed : System.Collections.ArrayList, IReadOnlyDictionary<string, object>
    {
        readonly Map map = new Map();
        public object this[string key] { get { return map[key]; } set { map[key] = value; } }
        IEnumerable<string> IReadOnlyDictionary<string, object>.Keys { get { return map.Keys; } }
        IEnumerable<object> IReadOnlyDictionary<string, object>.Values { get { return map.Values; } }
        int IReadOnlyCollection<KeyValuePair<string, object>>.Count { get { return map.Count; } }
        public bool ContainsKey(string key) { return map.ContainsKey(key); }
        public bool TryGetValue(string key, out object value) { return map.TryGetValue(key, out value); }
        IEnumerator<KeyValuePair<string, object>> IEnumerable<KeyValuePair<string, object>>.GetEnumerator() { return map.GetEnumerator(); }
        public override System.Collections.IEnumerator GetEnumerator() { return map.GetEnumerator(); }
    }

    static object Loop()
    {
        var loop = new List<object>();
        loop.Add(loop);
        return loop;
    }

    static void TheLibraryIsFound()
    {
        var real = new Loader().Named ?? throw new Exception("WFSTUDIO_LIBRARY is not set");
        var dead = Path.Combine(Folder, "none.so");
        Action<string, Loader, string> refused = (what, loader, told) =>
        {
            try { loader.Find(); }
            catch (UnsupportedPlatformException failure)
            {
                Check(failure.Message.Contains(told) && failure.Message.Contains("linux-x64"), what + ": " + failure.Message);
                return;
            }
            throw new Exception(what + " was taken");
        };
        File.WriteAllText(Path.Combine(Folder, "text.so"), "no library");
        refused("no absolute path", new Loader { Named = "libwfstudio.so" }, "no absolute path");
        refused("no such file", new Loader { Named = dead }, "cannot open shared object file");
        refused("no library", new Loader { Named = Path.Combine(Folder, "text.so"), Mapped = () => null }, "text.so");
        refused("nowhere", new Loader { Named = null, Bundled = new[] { dead }, System = "libnone.so.1" }, "libnone.so.1: ");
        refused("two copies", new Loader { Named = real, Mapped = () => "/y/libwfstudio.so" }, "/y/libwfstudio.so already");
        refused("another library", new Loader { Named = "/lib/x86_64-linux-gnu/libm.so.6", Mapped = () => null }, "it has no studio_");
        var found = new Loader { Named = null, Bundled = new[] { dead, real } }.Find();
        Check(found != null && new Loader { Named = real }.Find() != null, "bundled, named");
    }

    // A library that says these versions and does nothing else. The functions behind the delegates are never called.
    static Native Said(uint abi, string version)
    {
        return new Native((name, kind) =>
            name == "studio_abi_version" ? new Native.AbiVersionFunction(() => abi)
            : name == "studio_version" ? new Native.VersionFunction(() => System.Runtime.InteropServices.Marshal.StringToHGlobalAnsi(version))
            : System.Runtime.InteropServices.Marshal.GetDelegateForFunctionPointer(new IntPtr(8), kind));
    }

    static void EachPlaceOfTheLibraryHasItsRule()
    {
        const uint good = Native.Major << 16 | Native.Minor;
        var bundled = Path.Combine(Folder, "bundled.so");
        File.WriteAllText(bundled, "the loader is played here");
        // What there is: the variable, the bundled file, the system's, the file that is mapped; the libraries by path; which is taken, or a part of the error; whether it warns.
        Action<string, string, bool, string, Dictionary<string, Native>, string, string, bool> row = (what, named, isBundled, mapped, there, taken, problem, warns) =>
        {
            var opened = new List<string>();
            var warned = new List<string>();
            var loader = new Loader
            {
                Named = named, Platform = "linux-musl-riscv64", Bundled = new[] { isBundled ? bundled : Path.Combine(Folder, "none.so") }, System = "libwfstudio.so.1", Mapped = () => mapped, Warn = warned.Add,
                Open = path =>
                {
                    if (!there.ContainsKey(path)) throw new DllNotFoundException("cannot open shared object file");
                    opened.Add(path);
                    return there[path];
                },
            };
            try { Check(loader.Find() != null && problem == null, what + " was taken"); }
            catch (UnsupportedPlatformException failure)
            {
                Check(problem != null && failure.Message.Contains(problem) && failure.Message.Contains("linux-musl-riscv64") && failure.Places.Count > 0, what + ": " + failure.Message);
                return;
            }
            Check(opened.SequenceEqual(new[] { taken }) && warned.Count > 0 == warns, what + ": " + string.Join(", ", opened));
        };
        Func<string, uint, string, Dictionary<string, Native>> only = (path, abi, version) => new Dictionary<string, Native> { { path, Said(abi, version) } };
        var all = new[] { "/x/named.so", bundled, "libwfstudio.so.1" }.ToDictionary(path => path, path => Said(good, Native.Package));
        row("the variable", "/x/named.so", true, null, all, "/x/named.so", null, false);
        row("no other than the variable", "/x/gone.so", true, null, all, null, "/x/gone.so: cannot open", false);
        row("the variable is no absolute path", "named.so", true, null, all, null, "no absolute path", false);
        row("the bundled one", null, true, null, all, bundled, null, false);
        row("the system's", null, false, null, all, "libwfstudio.so.1", null, false);
        row("nowhere", null, false, null, new Dictionary<string, Native>(), null, "libwfstudio.so.1: cannot open", false);
        row("another major", "/x/named.so", false, null, only("/x/named.so", (Native.Major + 1) << 16, Native.Package), null, "version " + (Native.Major + 1) + ".0", false);
        row("an older minor, bundled", null, true, null, only(bundled, Native.Major << 16, Native.Package), null, "version " + Native.Major + ".0", false);
        row("a newer minor", null, false, null, only("libwfstudio.so.1", good + 1, Native.Package), "libwfstudio.so.1", null, false);
        row("another version, bundled", null, true, null, only(bundled, good, "9.9.9"), null, "it is version 9.9.9, and this package is " + Native.Package, false);
        row("another version, of the system", null, false, null, only("libwfstudio.so.1", good, "9.9.9"), "libwfstudio.so.1", null, true);
        row("another version, named", "/x/named.so", false, null, only("/x/named.so", good, "9.9.9"), "/x/named.so", null, true);
        row("two copies", "/x/named.so", false, "/y/libwfstudio.so", all, null, "/y/libwfstudio.so already", false);
        row("the same copy", "/x/named.so", false, "/x/named.so", all, "/x/named.so", null, false);
        var link = Path.Combine(Folder, "link.so");
        Process.Start(new ProcessStartInfo("ln", "-s " + bundled + " " + link) { UseShellExecute = false }).WaitForExit();
        row("the same copy by another name", link, false, bundled, only(link, good, Native.Package), link, null, false);
    }

    static void EventsAreFoundAmongOtherFrames()
    {
        var found = new Queue<StudioEvent>();
        StudioEvent.Find(Encoding.UTF8.GetBytes("retry: 2000\n\nid: 7\nevent: token\ndata: {\"delta\":\"Grüße 🌍\"}\n\n: heartbeat\n\nid: L8\nevent: done\ndata: {}\n\n"), found);
        var told = string.Join("|", found.Select(one => one.Id + " " + one.Name + " " + one.Data + " " + one.Data));
        Check(told == "7 token {\"delta\":\"Grüße 🌍\"} {\"delta\":\"Grüße 🌍\"}|L8 done {} {}", told);
    }

    static void RunsAndErrors()
    {
        using (var studio = Opened("runs"))
        {
            Echo(studio);
            var events = studio.Run(new { workflow = "echo", message = "hi" }).ToList();
            Check(events[0].Name == EventName.Thread && events[0].Id != null && events.Any(one => one.Name == EventName.TraceCompleted), "events");
            Check(events.All(one => Json.Read(one.Data) != null), "data is JSON");
            Check(Failure(() => studio.Call(Op.TraceGet, new { trace_id = "00000000-0000-7000-8000-000000000000" })) == StudioCode.NotFound, "not found");
            Check(Failure(() => studio.Call(Op.TraceGet, "{")) == StudioCode.Invalid, "invalid");
            Check(Failure(() => studio.Run(new { workflow = "none", message = "hi" }).ToList()) == StudioCode.NotFound, "no such workflow");
            try { studio.Call(Op.TraceGet, new { trace_id = "00000000-0000-7000-8000-000000000000" }); }
            catch (StudioException failure) { Check(failure.Name == "not_found" && failure.Message.Length > 0, "problem"); }
        }
        Check(Failure(() => Studio.Open("{\"database\":7}")) == StudioCode.Invalid, "a wrong configuration");
    }

    static void ToolsAreFunctions()
    {
        using (var studio = Opened("tools"))
        using (var begun = new SemaphoreSlim(0))
        {
            var unwanted = 0;
            studio.Tool(new { name = "good" }, call => new { got = call.Payload["name"] });
            studio.Tool(new { name = "bad" }, new Func<HostCall, object>(call => throw new Exception("the till is empty")));
            studio.Tool(new { name = "odd" }, call => (object)double.NaN);
            studio.Tool(new { name = "slow" }, async call =>
            {
                begun.Release();
                try { await Task.Delay(20000, call.Cancelled); }
                catch (OperationCanceledException) { Interlocked.Increment(ref unwanted); }
                return (object)null;
            });
            Func<string, string> told = name =>
            {
                Save(studio, name, "tool", new Map { { "tool_ref", "host:" + name } });
                return string.Join("\n", studio.Run(new { workflow = name, message = "hi" }).Select(one => one.Name + one.Data));
            };
            Check(told("good").Contains("\"got\""), "good");
            Check(told("bad").Contains("the till is empty"), "bad");
            Check(told("odd").Contains("not finite"), "odd");
            Save(studio, "slow", "tool", new Map { { "tool_ref", "host:slow" } });
            using (var stream = studio.Run(new { workflow = "slow", message = "hi" }))
            {
                Task.Run(() => { begun.Wait(); stream.Cancel(); });
                Check(stream.Last().Name == EventName.TraceCancelled, "cancelled");
            }
            for (var i = 0; i < 3000 && unwanted == 0; i++) Thread.Sleep(10);
            Check(unwanted == 1, "the tool was told");
        }
    }

    // A call that was cancelled before a thread of the pool came to it.
    static void AnUnwantedCallIsNotBegun()
    {
        using (var studio = Opened("unwanted"))
        {
            var ran = 0;
            var call = new HostCall(studio, new Map { { "op", HostOp.ToolCall }, { "call_id", 1 } });
            call.Cancel();
            new Host(studio).Finish(call, _ => { ran++; return Task.FromResult<object>(null); }).Wait();
            Check(ran == 0, "the tool was not begun");
        }
    }

    sealed class Mute : Exception
    {
        public override string Message { get { throw new InvalidOperationException("no text"); } }
    }

    static void AToolThatRanIsNotToldAsOneThatFailed()
    {
        using (var studio = Opened("ran"))
        {
            foreach (var why in new[] { "not finite", "does not read it" })
            {
                object result = why == "not finite" ? (object)double.NaN : new string('x', 17 * 1024 * 1024);
                studio.Tool(new { name = "odd" }, call => result);
                Save(studio, "odd", "tool", new Map { { "tool_ref", "host:odd" } });
                var told = string.Join("\n", studio.Run(new { workflow = "odd", message = "hi" }).Select(one => one.Name + one.Data));
                Check(told.Contains("the tool ran, but its result could not be written as JSON (") && told.Contains(why), told);
            }
            Check(Written(studio, HostOp.ToolCall, () => double.NaN).Contains("\"ran\":true"), "a tool ran");
            Check(!Written(studio, HostOp.Gate, () => double.NaN).Contains("\"ran\""), "a gate is no tool");
            Check(!Written(studio, HostOp.ToolCall, () => throw new Exception("the till is empty")).Contains("\"ran\""), "a tool failed");
            Check(Written(studio, HostOp.ToolCall, () => throw new Mute()).Contains("Mute"), "a failure whose text fails");
            Check(Written(studio, HostOp.ToolCall, () => throw new Exception(new string('x', 17 * 1024 * 1024))).Length < 20000, "a failure of many words");
        }
    }

    // What the engine is told by a call.
    static string Written(Studio studio, string op, Func<object> does)
    {
        return Json.Write(Host.Worked(new HostCall(studio, new Map { { "op", op }, { "call_id", 1 } }), _ => Task.FromResult(does())).Result);
    }

    // On a thread of the pool, where an exception that nobody catches would end this process.
    static void ACallbackOfATokenThatThrowsEndsNoProcess()
    {
        using (var studio = Opened("callback"))
        {
            foreach (var late in new[] { false, true })
            {
                var call = new HostCall(studio, new Map { { "op", HostOp.ToolCall }, { "call_id", 1 } });
                call.Cancelled.Register(() => { throw new InvalidOperationException("the command is gone"); });
                if (late) call.CancelAfter(20);
                else call.Cancel();
                for (var i = 0; i < 3000 && !call.Cancelled.IsCancellationRequested; i++) Thread.Sleep(10);
                Check(call.Cancelled.IsCancellationRequested, "cancelled");
                Thread.Sleep(200);
            }
        }
    }

    static async Task<string> Named(HostCall call) { await Task.Delay(10); return "by a task"; }
    static async Task Silent(HostCall call) { await Task.Delay(10); silent++; }
    static async Task<string> Refused(HostCall call) { await Task.Delay(10); throw new Exception("the till is empty"); }
    static int silent;

    // What the compiler takes for a function of an object, since its task is no Task<object>.
    static void ATaskOfAnyKindIsWaitedFor()
    {
        using (var studio = Opened("tasks"))
        {
            Func<string, Func<HostCall, object>, string> told = (name, does) =>
            {
                studio.Tool(new { name = name }, does);
                Save(studio, name, "tool", new Map { { "tool_ref", "host:" + name } });
                return string.Join("\n", studio.Run(new { workflow = name, message = "hi" }).Select(one => one.Name + one.Data));
            };
            var named = told("named", call => Named(call));
            Check(named.Contains("by a task") && !named.Contains("Exception"), named);
            var silently = told("silent", call => Silent(call));
            Check(silent == 1 && silently.Contains(EventName.TraceCompleted) && !silently.Contains("Status"), silently);
            var refused = told("refused", call => Refused(call));
            Check(refused.Contains("the till is empty") && !refused.Contains("the tool ran"), refused);
        }
    }

    static void AStreamThatNobodyHoldsIsClosed()
    {
        using (var studio = Opened("dropped"))
        {
            Echo(studio);
            var dropping = new Thread(() =>
            {
                for (var i = 0; i < 40; i++) studio.Run(new { workflow = "echo", message = "hi" }).NextAsync().Wait();
            });
            dropping.Start();
            dropping.Join();
            for (var i = 0; i < 2000 && studio.Listening > 10; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                Thread.Sleep(10);
            }
            Check(studio.Listening <= 10, studio.Listening + " streams are still known");
            // One that is waited for is held, whoever has it.
            studio.Tool(new { name = "slow" }, async call => { await Task.Delay(1500); return (object)"done"; });
            Save(studio, "slow", "tool", new Map { { "tool_ref", "host:slow" } });
            var last = Task.Run(() => Last(studio));
            for (var i = 0; i < 20; i++) { GC.Collect(); Thread.Sleep(50); }
            Check(last.Wait(20000) && last.Result == EventName.TraceCompleted, "a stream that is waited for");
        }
    }

    static async Task<string> Last(Studio studio)
    {
        var stream = studio.Run(new { workflow = "slow", message = "hi" });
        string last = null;
        for (StudioEvent next; (next = await stream.NextAsync()) != null;) last = next.Name;
        return last;
    }

    static void AMarkThatThrowsLetsNobodyIn()
    {
        using (var studio = Opened("marks"))
        {
            var port = 20000 + new Random().Next(20000);
            var listener = new HttpListener();
            listener.Prefixes.Add("http://127.0.0.1:" + port + "/");
            listener.Start();
            var answering = Task.Run(async () =>
            {
                try { await studio.AnswerAsync(await listener.GetContextAsync(), (from, request) => { throw new InvalidOperationException("the session store is away"); }); }
                catch (InvalidOperationException) { return true; }
                return false;
            });
            var asked = (HttpWebRequest)WebRequest.Create("http://127.0.0.1:" + port + "/studio/api/workflows");
            asked.Timeout = 20000;
            var status = 0;
            try { asked.GetResponse().Close(); }
            catch (WebException failure) { status = failure.Response == null ? -1 : (int)((HttpWebResponse)failure.Response).StatusCode; }
            Check(status == 500 && answering.Result, "a mark that throws: " + status);
            listener.Stop();
        }
    }

    static void WaitingRunsHoldNoThreads()
    {
        using (var studio = Opened("threads"))
        using (var begun = new CountdownEvent(100))
        {
            var release = new TaskCompletionSource<object>();
            studio.Tool(new { name = "slow", timeout_ms = 60000 }, call => { begun.Signal(); return release.Task; });
            Save(studio, "slow", "tool", new Map { { "tool_ref", "host:slow" } });
            Echo(studio);
            studio.Run(new { workflow = "echo", message = "hi" }).ToList();
            var before = Directory.GetDirectories("/proc/self/task").Length;
            var runs = Enumerable.Range(0, 100).Select(async _ =>
            {
                var stream = studio.Run(new { workflow = "slow", message = "hi" });
                string last = null;
                for (StudioEvent next; (next = await stream.NextAsync()) != null;) last = next.Name;
                return last;
            }).ToList();
            begun.Wait(20000);
            var more = Directory.GetDirectories("/proc/self/task").Length - before;
            Check(more <= 20, more + " more threads");
            release.SetResult("done");
            Check(Task.WhenAll(runs).Result.All(last => last == EventName.TraceCompleted), "all runs end");
        }
    }

    static void PrefixesAreAsked()
    {
        using (var studio = Studio.Open(new { environment = "local", route_prefix = "shop/studio", database = new { path = Path.Combine(Folder, "prefix.sqlite") } }))
        {
            Check(studio.Mounts.Contains("/shop/studio"), string.Join(" ", studio.Mounts));
        }
    }

    // The first that uses the pool: later, it has more threads than it may have.
    static void RequestsThatNeedTheApplicationHoldNoThreadOfThePool()
    {
        ThreadPool.GetMaxThreads(out var most, out var ports);
        Check(ThreadPool.SetMaxThreads(4, ports), "a small pool");
        using (var studio = Studio.Open(new { environment = "local", database = new { path = Path.Combine(Folder, "pool.sqlite") } }))
        {
            studio.Answer(HostOp.SecretGet, call => Task.FromResult<object>(new { value = "there" }));
            foreach (var one in new[] { Tuple.Create("/studio/workflows", 0), Tuple.Create("/studio/api/workflows", 1) })
            {
                using (studio.HttpAsync(new StudioRequest { Target = one.Item1, Gate = true }).Result) Check(studio.Listening == one.Item2, one.Item1 + " has " + studio.Listening + " streams");
            }
            var requests = Enumerable.Range(0, 24).Select(_ => Task.Run(async () =>
            {
                using (var answer = await studio.HttpAsync(new StudioRequest { Target = "/studio/api/providers", Gate = true })) return await answer.TextAsync();
            })).ToArray();
            Check(Task.WaitAll(requests, 10000) && requests.All(one => one.Result.Contains("\"default_provider\":\"openai\"")), "all are answered with what the application said");
        }
        ThreadPool.SetMaxThreads(most, ports);
    }

    static void Mounts()
    {
        using (var studio = Opened("http"))
        {
            Echo(studio);
            var port = 20000 + new Random().Next(20000);
            var listener = new HttpListener();
            listener.Prefixes.Add("http://127.0.0.1:" + port + "/");
            listener.Start();
            Task.Run(async () =>
            {
                while (listener.IsListening)
                {
                    var context = await listener.GetContextAsync();
                    if (!studio.Owns(context.Request)) { context.Response.StatusCode = 418; context.Response.Close(); }
                    else _ = Task.Run(() => studio.AnswerAsync(context, (from, request) => request.Gate = from.Headers["X-Gate"] == "open"));
                }
            });
            Func<string, string, string, string, Tuple<int, string>> ask = (method, path, body, gate) =>
            {
                var request = (HttpWebRequest)WebRequest.Create("http://127.0.0.1:" + port + path);
                request.Method = method;
                request.Headers["X-Gate"] = gate;
                request.Headers["X-Requested-With"] = "test";
                request.ContentType = "application/json";
                if (body != null) using (var writer = new StreamWriter(request.GetRequestStream())) writer.Write(body);
                HttpWebResponse answer;
                try { answer = (HttpWebResponse)request.GetResponse(); }
                catch (WebException failure) { answer = (HttpWebResponse)failure.Response; }
                using (answer) return Tuple.Create((int)answer.StatusCode, new StreamReader(answer.GetResponseStream()).ReadToEnd());
            };
            foreach (var gate in new[] { "open", "unsaid", "asked in vain" })
            {
                var request = new StudioRequest { Target = "/studio/api/workflows", Gate = gate == "open" ? true : (bool?)null, GateAsked = gate == "asked in vain" };
                using (studio.HttpAsync(request).GetAwaiter().GetResult()) Check(studio.Listening == (gate == "open" ? 0 : 1), gate + ": a request that only reads begins no stream, unless somebody has to be asked");
            }
            var listed = ask("GET", "/studio/api/workflows", null, "open");
            Check(listed.Item1 == 200 && listed.Item2.Contains("\"echo\""), listed.ToString());
            Check(ask("GET", "/studio/api/workflows", null, "shut").Item1 == 403, "403");
            Check(ask("GET", "/studio/api/workflows/none%2Fsuch", null, "open").Item1 == 404, "404");
            foreach (var path in new[] { "/studio/workflows", "/studio/api/settings", "/studio/api/none" })
            {
                var head = (HttpWebRequest)WebRequest.Create("http://127.0.0.1:" + port + path);
                head.Method = "HEAD";
                head.Headers["X-Gate"] = "open";
                HttpWebResponse told;
                try { told = (HttpWebResponse)head.GetResponse(); }
                catch (WebException failure) { told = (HttpWebResponse)failure.Response; }
                using (told)
                    Check(told.ContentLength == Encoding.UTF8.GetByteCount(ask("GET", path, null, "open").Item2), "HEAD of " + path + ": " + told.ContentLength);
            }
            foreach (var path in new[] { "/studios", "/studio-x/workflows", "/api/studios/workflows", "/own" })
            {
                Check(ask("GET", path, null, "open").Item1 == 418, path + " is the application's");
            }
            Check(ask("POST", "/studio/api/workflows", "{\"name\":", "open").Item2.Contains("malformed_json"), "malformed");
            var stream = ask("POST", "/studio/workflows/echo/run/stream", "{\"message\":\"over the wire\"}", "open");
            Check(stream.Item1 == 200 && stream.Item2.Contains("event: trace_completed"), stream.ToString());
            studio.Close();
            Check(ask("GET", "/studio/api/workflows", null, "open").Item1 == 503, "503");
            listener.Stop();
        }
    }

    static void ClosingIsSafeAtAnyMoment()
    {
        var studio = Opened("close");
        studio.Tool(new { name = "slow" }, async call => { await Task.Delay(20000, call.Cancelled); return (object)1; });
        Save(studio, "slow", "tool", new Map { { "tool_ref", "host:slow" } });
        for (var i = 0; i < 30; i++)
        {
            var stream = studio.Run(new { workflow = "slow", message = "hi" });
            var reader = Task.Run(() => Failure(() => stream.ToList()));
            Thread.Sleep(i % 10);
            stream.Dispose();
            stream.Dispose();
            Check(reader.Wait(30000) && reader.Result == StudioCode.Closed, "closed while it is read: " + (reader.IsCompleted ? reader.Result.ToString() : "hangs"));
        }
        var left = studio.Run(new { workflow = "slow", message = "hi" });
        var cancel = new CancellationTokenSource(100);
        var ended = false;
        try { while (left.NextAsync(cancel.Token).Result != null) { } }
        catch (AggregateException failure) { ended = failure.InnerException is OperationCanceledException; }
        Check(ended, "an ended token ends the wait");
        var open = studio.Run(new { workflow = "slow", message = "hi" });
        var waiting = Task.Run(() => Failure(() => open.ToList()));
        var clock = Stopwatch.StartNew();
        try { studio.Close(500); } catch (StudioException) { }
        Check(waiting.Wait(5000) && clock.Elapsed.TotalSeconds < 8, "the engine's end ends the wait");
        studio.Dispose();
        Check(Failure(() => studio.Call(Op.Health)) == StudioCode.Closed, "closed");
    }

    static int Main()
    {
        var tests = new Action[] { JsonIsReadAndWritten, TheLibraryIsFound, EachPlaceOfTheLibraryHasItsRule, RequestsThatNeedTheApplicationHoldNoThreadOfThePool, EventsAreFoundAmongOtherFrames, RunsAndErrors, ToolsAreFunctions, AnUnwantedCallIsNotBegun, ATaskOfAnyKindIsWaitedFor, AStreamThatNobodyHoldsIsClosed, AMarkThatThrowsLetsNobodyIn, AToolThatRanIsNotToldAsOneThatFailed, ACallbackOfATokenThatThrowsEndsNoProcess, WaitingRunsHoldNoThreads, PrefixesAreAsked, Mounts, ClosingIsSafeAtAnyMoment };
        var failed = 0;
        foreach (var test in tests)
        {
            try { test(); Console.WriteLine("ok " + test.Method.Name); }
            catch (Exception failure) { Console.WriteLine("not ok " + test.Method.Name + ": " + failure); failed++; }
        }
        return failed;
    }
}
