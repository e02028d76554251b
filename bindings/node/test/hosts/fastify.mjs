import fastify from 'fastify';
import { mount } from '../../dist/http/fastify.js';

export async function serve({ studio, marks, find, port }) {
  const app = fastify({ forceCloseConnections: true });
  await mount(
    app,
    studio,
    marks((request, name) => request.headers[name]),
  );
  app.all('/own/*', async (request, reply) => {
    const [told, type, status = 200] = await find(request.method, request.url)(request.body ?? {});
    return reply.code(status).type(type).send(told);
  });
  await app.listen({ port, host: '127.0.0.1' });
  return () => app.close();
}
