import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { mount, StudioModule } from '../../dist/http/nest.js';
import { answerOwn, header } from './own.mjs';

export async function serve({ studio, marks, find, port }) {
  class App {}
  Module({ imports: [StudioModule.forRoot(studio)] })(App);
  const app = await NestFactory.create(App, { logger: ['error', 'warn'] });
  await mount(app, studio, marks(header));
  app.use('/own', (request, response) => answerOwn(find, request, response));
  await app.listen(port, '127.0.0.1');
  return () => {
    app.getHttpServer().closeAllConnections();
    return app.close();
  };
}
