/** Owns what the hosts of node:http have in common: the routes of the application itself. */

async function text(request) {
  let read = '';
  for await (const part of request) read += part;
  return read;
}

/** Answers a request of `node:http` by the routes of the application; `body` where a framework has parsed it. */
export async function answerOwn(find, request, response, body) {
  const sent = body ?? JSON.parse((await text(request)) || '{}');
  const [told, type, status = 200] = await find(request.method, request.originalUrl ?? request.url)(sent);
  response.writeHead(status, { 'content-type': type }).end(told);
}

/** The header of a request of `node:http`. */
export const header = (request, name) => request.headers[name];

/** Listens, and says how to end. */
export async function listen(server, port) {
  await new Promise((done) => server.listen(port, '127.0.0.1', done));
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
