<?php
// What mixed_storm.hpp asks of a program, in PHP; its handles are opened before it forks.

declare(strict_types=1);

require __DIR__ . '/../../lib/php/leaf.php';

$tag = Leaf\Allocator::open()->tag('storm');
$generator = Leaf\Generator::open(workerName: 'storm');
$child = pcntl_fork();
if ($child !== 0) {
    pcntl_waitpid($child, $status);
    exit(pcntl_wifexited($status) ? pcntl_wexitstatus($status) : 1);
}
while (($line = fgets(STDIN)) !== false) {
    for ($i = 0; $i < (int) $line; ++$i) {
        echo 't', $tag->next(), "\n";
        if ($i % 4 === 0) {
            echo 's', $generator->next(), "\n";
        }
    }
    echo ".\n";
}
