# Owns one event of a run, and how events are found in what a stream brings.

module WfStudio
  # One event: its name, its data as the JSON has it, its number in the run. What follows the name is read when it is asked for.
  class Event
    MEMBERS = %i[name data id].freeze

    attr_reader :name

    # The events in whole frames; other frames are said to browsers only.
    def self.each_in(frames)
      frames.split("\n\n") do |frame|
        at = frame.index("\nevent: ") or next
        yield new(frame[at + 8...frame.index("\n", at + 8)], nil, nil, frame)
      end
    end

    def initialize(name, data = nil, id = nil, frame = nil)
      @name, @data, @id, @frame = name, data, id, frame
    end

    def id
      @id ||= @frame && @frame[4...@frame.index("\n")]
    end

    def data
      @data ||= @frame && JSON.parse(@frame[@frame.index("\ndata: ") + 7..], max_nesting: false)
    end

    # A member of the data by a text, one of the event by a symbol or its place.
    def [](key)
      return data[key] if key.is_a?(String)

      to_h.fetch(key.is_a?(Integer) ? MEMBERS.fetch(key) : key)
    end

    # As `[]`, and deeper.
    def dig(key, *keys)
      keys.empty? ? self[key] : self[key]&.dig(*keys)
    end

    def to_a
      [name, data, id]
    end
    alias deconstruct to_a

    def to_h(&block)
      { name: name, data: data, id: id }.to_h(&block)
    end

    # What Rails writes as JSON.
    def as_json(*options)
      to_h.as_json(*options)
    end

    # What YAML writes.
    def encode_with(coder)
      coder.map = to_h.transform_keys(&:to_s)
    end

    # A frozen event can read nothing later.
    def freeze
      to_a
      super
    end

    def deconstruct_keys(_names)
      to_h
    end

    def ==(other)
      other.is_a?(Event) && to_a == other.to_a
    end

    def eql?(other)
      other.is_a?(Event) && to_a.eql?(other.to_a)
    end

    def hash
      to_a.hash
    end

    def inspect
      "#<#{self.class} name=#{name.inspect}, data=#{data.inspect}, id=#{id.inspect}>"
    end
    alias to_s inspect
  end
end
