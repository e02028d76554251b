<?php

// Owns the services of the bundle.

declare(strict_types=1);

namespace Studio\Symfony;

use Studio\Studio;
use Symfony\Component\Config\Definition\Builder\TreeBuilder;
use Symfony\Component\Config\Definition\ConfigurationInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Extension\Extension;
use Symfony\Component\DependencyInjection\Reference;

final class StudioExtension extends Extension implements ConfigurationInterface
{
    public function getAlias(): string
    {
        return 'studio';
    }

    public function getConfigTreeBuilder(): TreeBuilder
    {
        $tree = new TreeBuilder('studio');
        $tree->getRootNode()->children()
            ->variableNode('config')->info('the configuration of the studio, dotted keys nested')->defaultValue([])->end()
            ->scalarNode('host')->info('a service that implements Studio\Symfony\Marks')->isRequired()->end()
            ->arrayNode('prefixes')->scalarPrototype()->end()->defaultValue(['/studio', '/api/studio'])->end()
        ->end();
        return $tree;
    }

    public function getConfiguration(array $config, ContainerBuilder $container): ConfigurationInterface
    {
        return $this;
    }

    public function load(array $configs, ContainerBuilder $container): void
    {
        $config = $this->processConfiguration($this, $configs);
        $host = new Reference($config['host']);
        $container->register(Studio::class)->setFactory([self::class, 'studio'])->setArguments([$config['config'], $host])->setPublic(true);
        $container->register('studio.controller', Controller::class)->setFactory([Controller::class, 'of'])
            ->setArguments([new Reference(Studio::class), $host])->setPublic(true)->addTag('controller.service_arguments');
        $container->register(Routes::class)->setArguments([$config['prefixes']])->addTag('routing.loader');
        $container->register(Work::class)->setArguments([new Reference(Studio::class)])->addTag('console.command', ['command' => 'studio:work']);
    }

    /** @param array<string, mixed> $config */
    public static function studio(array $config, Marks $host): Studio
    {
        $studio = Studio::shared($config);
        $host->declare($studio);
        return $studio;
    }
}
