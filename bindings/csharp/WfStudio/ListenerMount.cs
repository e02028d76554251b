// Owns the mount in System.Net.HttpListener, which is in .NET and in Mono.
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Threading.Tasks;

namespace WfStudio
{
    /// <summary>Mounts a studio in an HttpListener.</summary>
    public static class ListenerMount
    {
        /// <summary>True for paths that are the studio's.</summary>
        public static bool Owns(this Studio studio, HttpListenerRequest request)
        {
            var path = request.RawUrl.Split('?')[0];
            foreach (var prefix in studio.Mounts)
            {
                if (path == prefix || path.StartsWith(prefix + "/", StringComparison.Ordinal)) return true;
            }
            return false;
        }

        /// <summary>Answers a request; `marks` says who asks.</summary>
        public static async Task AnswerAsync(this Studio studio, HttpListenerContext context, Action<HttpListenerRequest, StudioRequest> marks = null)
        {
            var from = context.Request;
            var request = new StudioRequest { Method = from.HttpMethod, Target = from.RawUrl, Body = from.HasEntityBody ? from.InputStream : null };
            foreach (var name in from.Headers.AllKeys)
            {
                foreach (var value in name.Equals("Cookie", StringComparison.OrdinalIgnoreCase) ? new[] { from.Headers[name] } : from.Headers.GetValues(name)) request.Headers.Add(new KeyValuePair<string, string>(name, value));
            }
            var to = context.Response;
            try
            {
                marks?.Invoke(from, request);
                using (var answer = await studio.HttpAsync(request).ConfigureAwait(false))
                {
                    to.StatusCode = answer.Status;
                    foreach (var header in answer.Headers) Put(to, header.Key, header.Value);
                    if (from.HttpMethod != "HEAD" && answer.Short is byte[] body)
                    {
                        to.Close(body, false);
                        return;
                    }
                    await Body(answer, to, from.HttpMethod == "HEAD").ConfigureAwait(false);
                }
                to.Close();
            }
            catch (StudioException failure) when (failure.Code == StudioCode.Closed && IsEvents(to.ContentType)) { to.Close(); }
            catch (Exception failure) when (failure is IOException || failure is HttpListenerException || failure is ObjectDisposedException || failure is StudioException)
            {
                to.Abort(); // the client is gone, or must not take a torn body for a whole one
            }
            catch
            {
                Refuse(to); // a mark that throws lets nobody in, and its client does not wait for ever
                throw;
            }
        }

        static void Refuse(HttpListenerResponse to)
        {
            try
            {
                to.StatusCode = 500;
                to.Close();
            }
            catch (Exception) { to.Abort(); }
        }

        // Events are whole, and their readers come again with the position that they have.
        static bool IsEvents(string type) { return type != null && type.StartsWith("text/event-stream", StringComparison.Ordinal); }

        static void Put(HttpListenerResponse to, string name, string value)
        {
            switch (name.ToLowerInvariant())
            {
                case "content-type": to.ContentType = value; break;
                case "content-length": to.ContentLength64 = long.Parse(value); break;
                case "transfer-encoding": case "connection": break;
                default: to.AppendHeader(name, value); break;
            }
        }

        static async Task Body(StudioResponse answer, HttpListenerResponse to, bool headOnly)
        {
            var first = await answer.NextAsync().ConfigureAwait(false);
            if (headOnly || first == null && to.StatusCode != 200) { if (!headOnly && to.StatusCode >= 200 && to.StatusCode != 204 && to.StatusCode != 304) to.ContentLength64 = 0; return; }
            if (to.ContentLength64 <= 0) to.SendChunked = true;
            for (; first != null; first = await answer.NextAsync().ConfigureAwait(false))
            {
                await to.OutputStream.WriteAsync(first, 0, first.Length).ConfigureAwait(false);
                await to.OutputStream.FlushAsync().ConfigureAwait(false);
            }
        }
    }
}
