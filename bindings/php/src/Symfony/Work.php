<?php

// Owns `bin/console studio:work`.

declare(strict_types=1);

namespace Studio\Symfony;

use Studio\Studio;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

final class Work extends Command
{
    public function __construct(private readonly Studio $studio)
    {
        parent::__construct('studio:work');
        $this->setDescription('Works on queued runs of the studio until SIGTERM');
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $this->studio->work(tell: $output->writeln(...));
        return 0;
    }
}
