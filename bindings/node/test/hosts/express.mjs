import http from 'node:http';
import compression from 'compression';
import express from 'express';
import { mount } from '../../dist/http/express.js';
import { answerOwn, listen } from './own.mjs';

export function serve({ studio, marks, find, port }) {
  const app = express();
  app.use(compression());
  mount(
    app,
    studio,
    marks((request, name) => request.get(name)),
  );
  app.use(express.json());
  app.use((request, response) => answerOwn(find, request, response, request.body ?? {}));
  return listen(http.createServer(app), port);
}
