import http from 'node:http';
import { listener } from '../../dist/http/node.js';
import { answerOwn, header, listen } from './own.mjs';

export const serve = ({ studio, marks, find, port }) =>
  listen(http.createServer(listener(studio, marks(header), (request, response) => answerOwn(find, request, response))), port);
