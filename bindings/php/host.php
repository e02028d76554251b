<?php

// Owns the conformance host: the built-in server, or (SERVER=fpm) php-fpm behind nginx, and beside them one process that works on queued runs.

declare(strict_types=1);

use Studio\Studio;

require __DIR__ . '/tests/autoload.php';
require __DIR__ . '/conformance/declaration.php';

[$port, $database] = [(int) getenv('PORT'), getenv('DATABASE')];
$framework = getenv('FRAMEWORK') ?: 'index';
$index = __DIR__ . "/conformance/$framework.php";
file_put_contents("$database.pid", (string) getmypid());
$folder = dirname($database) . '/server';
@mkdir($folder);

/** A server of this host, ended with it. */
function begun(array $command): mixed
{
    return proc_open($command, [['file', '/dev/null', 'r'], STDERR, STDERR], $pipes);
}

$kept = implode("\n", array_map(fn (string $name): string => 'env[' . $name . '] = "' . getenv($name) . '"', array_filter(['CONFIG', 'DATABASE', 'WFSTUDIO_LIBRARY'], 'getenv')));
file_put_contents("$folder/fpm.conf", <<<CONF
    [global]
    error_log = /dev/stderr
    daemonize = no
    process_control_timeout = 3
    [www]
    listen = $folder/fpm.sock
    pm = static
    pm.max_children = 12
    clear_env = no
    catch_workers_output = yes
    decorate_workers_output = no
    php_admin_value[ffi.enable] = 1
    php_admin_value[upload_max_filesize] = 64M
    php_admin_value[post_max_size] = 64M
    php_admin_value[output_buffering] = 0
    php_admin_flag[display_errors] = off
    php_admin_flag[log_errors] = on
    $kept
    CONF);
$user = posix_geteuid() === 0 ? 'user root;' : '';
file_put_contents("$folder/nginx.conf", <<<CONF
    $user
    daemon off;
    pid $folder/nginx.pid;
    error_log stderr;
    events {}
    http {
        access_log off;
        client_max_body_size 0;
        client_body_temp_path $folder/bodies;
        fastcgi_temp_path $folder/answers;
        fastcgi_read_timeout 600s;
        server {
            listen 127.0.0.1:$port;
            location / {
                fastcgi_pass unix:$folder/fpm.sock;
                fastcgi_buffering off;
                fastcgi_pass_header X-Accel-Buffering;
                fastcgi_param SCRIPT_FILENAME $index;
                fastcgi_param SCRIPT_NAME /index.php;
                fastcgi_param REQUEST_URI \$request_uri;
                fastcgi_param REQUEST_METHOD \$request_method;
                fastcgi_param QUERY_STRING \$query_string;
                fastcgi_param CONTENT_TYPE \$content_type;
                fastcgi_param CONTENT_LENGTH \$content_length;
                fastcgi_param HTTP_HOST \$http_host;
                fastcgi_param REMOTE_ADDR \$remote_addr;
                fastcgi_param SERVER_NAME \$server_name;
                fastcgi_param SERVER_PORT \$server_port;
                fastcgi_param SERVER_PROTOCOL \$server_protocol;
            }
        }
    }
    CONF);

if (getenv('SERVER') !== 'fpm') {
    putenv('PHP_CLI_SERVER_WORKERS=16');
    $servers = [begun([PHP_BINARY, '-d', 'ffi.enable=1', '-d', 'upload_max_filesize=64M', '-d', 'post_max_size=64M', '-S', "127.0.0.1:$port", $index])];
} else {
    $servers = [begun(['php-fpm8.2', '-R', '-F', '-y', "$folder/fpm.conf"]), begun(['nginx', '-e', 'stderr', '-c', "$folder/nginx.conf"])];
}
$end = function () use (&$servers): void {
    foreach ($servers as $server) {
        proc_terminate($server);
    }
    array_map('proc_close', $servers);
    $servers = [];
};
register_shutdown_function($end);

pcntl_async_signals(true);
pcntl_signal(SIGUSR1, fn () => throw new RuntimeException('nobody catches this'));
pcntl_signal(SIGUSR2, function () use ($end): void {
    $end();
    exit(70);
});
declared(Studio::open(json_decode(file_get_contents(getenv('CONFIG')), true)))->work();
