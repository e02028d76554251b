import http from 'node:http';
import Koa from 'koa';
import { mount } from '../../dist/http/koa.js';
import { answerOwn, listen } from './own.mjs';

export function serve({ studio, marks, find, port }) {
  const app = new Koa();
  mount(
    app,
    studio,
    marks((context, name) => context.get(name) || undefined),
  );
  app.use((context) => {
    context.respond = false;
    return answerOwn(find, context.req, context.res);
  });
  return listen(http.createServer(app.callback()), port);
}
