// Owns the mount in ASP.NET Core: a service that opens and closes with the application, and its routes.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace WfStudio.AspNetCore
{
    /// <summary>Studios in ASP.NET Core.</summary>
    public static class StudioEndpoints
    {
        /// <summary>Opens a studio with the application and closes it when the application stops. `tools` declares what it answers.</summary>
        public static IServiceCollection AddStudio(this IServiceCollection services, object config, Action<Studio> tools = null)
        {
            services.AddSingleton(_ =>
            {
                var studio = Studio.Open(config);
                tools?.Invoke(studio);
                return studio;
            });
            return services.AddHostedService<Closing>();
        }

        /// <summary>Mounts the studio at its prefixes; what is null is not said.</summary>
        public static void MapStudio(this IEndpointRouteBuilder routes, Func<HttpContext, object> user = null, Func<HttpContext, bool?> gate = null, Func<HttpContext, string> tenant = null, Func<HttpContext, bool> authorized = null)
        {
            var studio = routes.ServiceProvider.GetRequiredService<Studio>();
            foreach (var prefix in studio.Mounts)
            {
                foreach (var pattern in new[] { prefix, prefix + "/{**rest}" })
                {
                    routes.Map(pattern, context => Answer(studio, context, request =>
                    {
                        request.User = user?.Invoke(context);
                        request.Gate = gate?.Invoke(context);
                        request.GateAsked = gate != null;
                        request.Tenant = tenant?.Invoke(context);
                        request.Authorized = authorized?.Invoke(context);
                    })).DisableAntiforgery(); // the studio checks the origin of a request itself
                }
            }
        }

        static async Task Answer(Studio studio, HttpContext context, Action<StudioRequest> marks)
        {
            var from = context.Request;
            var target = context.Features.Get<IHttpRequestFeature>()?.RawTarget; // `Path` is decoded
            var request = new StudioRequest
            {
                Method = from.Method,
                Target = string.IsNullOrEmpty(target) || target[0] != '/' ? from.PathBase + from.Path + from.QueryString : target,
                Headers = from.Headers.SelectMany(header => header.Value.Select(value => new KeyValuePair<string, string>(header.Key, value))).ToList(),
                Body = context.Features.Get<IHttpRequestBodyDetectionFeature>()?.CanHaveBody == true ? from.Body : null, // HTTP/2 has no header that says it
            };
            marks(request);
            var gone = context.RequestAborted;
            try
            {
                using var answer = await studio.HttpAsync(request, gone).ConfigureAwait(false);
                context.Response.StatusCode = answer.Status;
                foreach (var header in answer.Headers) // what middleware has set is replaced, not repeated; only `Vary` adds up
                {
                    if (!header.Key.Equals("Vary", StringComparison.OrdinalIgnoreCase)) context.Response.Headers.Remove(header.Key);
                }
                foreach (var header in answer.Headers) context.Response.Headers.Append(header.Key, header.Value);
                for (byte[] piece; (piece = await answer.NextAsync().ConfigureAwait(false)) != null;)
                {
                    if (HttpMethods.IsHead(from.Method)) continue;
                    await context.Response.Body.WriteAsync(piece, gone).ConfigureAwait(false);
                    await context.Response.Body.FlushAsync(gone).ConfigureAwait(false);
                }
            }
            catch (OperationCanceledException) when (gone.IsCancellationRequested) { }
            catch (StudioException failure) when (context.Response.HasStarted)
            {
                // Events are whole, and their readers come again with the position that they have.
                var events = context.Response.ContentType?.StartsWith("text/event-stream", StringComparison.Ordinal) == true;
                if (!events || failure.Code != StudioCode.Closed) context.Abort(); // the client must not take a torn body for a whole one
            }
        }

        // Streams end before the server waits for its requests.
        sealed class Closing : IHostedService
        {
            readonly IHostApplicationLifetime lifetime;
            readonly Studio studio;
            public Closing(IHostApplicationLifetime lifetime, Studio studio) { this.lifetime = lifetime; this.studio = studio; }
            public Task StartAsync(CancellationToken cancel)
            {
                lifetime.ApplicationStopping.Register(studio.Dispose);
                return Task.CompletedTask;
            }
            public Task StopAsync(CancellationToken cancel) => Task.CompletedTask;
        }
    }
}
