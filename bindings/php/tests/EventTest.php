<?php

// Owns proof of what an event is, whether its data were read already or not.

declare(strict_types=1);

use PHPUnit\Framework\TestCase;
use Studio\Event;

final class EventTest extends TestCase
{
    private const JSON = '{"delta":"Grüße","none":{}}';
    private const DATA = ['delta' => 'Grüße', 'none' => []];

    private static function fresh(): Event
    {
        return new Event('token', null, '7', self::JSON);
    }

    public function testItsDataAreAPropertyAsOthers(): void
    {
        $event = self::fresh();
        self::assertTrue(isset($event->data), 'isset');
        self::assertFalse(isset(self::fresh()->data['more']));
        self::assertSame('Grüße', self::fresh()->data['delta'] ?? null);
        self::assertFalse(empty(self::fresh()->data));
        self::assertSame(self::DATA, $event->data);
        self::assertSame(self::DATA, (clone self::fresh())->data);
        self::assertSame(['more' => 1], (new Event('token', ['more' => 1], '7', '{"more":1}'))->data);
    }

    public function testWhatWasNotReadIsWrittenWhole(): void
    {
        $whole = ['name' => 'token', 'data' => self::DATA, 'id' => '7', 'json' => self::JSON];
        self::assertSame($whole, json_decode(json_encode(self::fresh()), true));
        self::assertStringContainsString('[delta] => Grüße', print_r(self::fresh(), true));
        self::assertEquals(self::DATA, unserialize(serialize(self::fresh()))->data);
    }

    /** @dataProvider states */
    public function testNobodyElseWritesIt(bool $read): void
    {
        $event = self::fresh();
        $read && $event->data;
        $this->expectException(Error::class);
        $event->data = [];
    }

    public static function states(): array
    {
        return [[true], [false]];
    }

    public function testWhatIsNoJsonIsRefused(): void
    {
        $this->expectException(JsonException::class);
        (new Event('token', null, '7', '{'))->data;
    }
}
