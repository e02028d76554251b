# The studio: who asks, who may enter, and what the application answers. A change is read at the next start of the server.

WfStudio.rails do |config|
  # Keys: docs/configuration.md. Without `environment: "local"` nobody enters whom `gate` does not let in, in development too.
  config.studio = { database: { path: Rails.root.join("storage", "studio.sqlite").to_s } }

  # The application's own sign-in. `user` gives a hash with an `id`, or nil; with Devise: request.env["warden"].user&.then { |user| { id: user.id.to_s } }
  config.user = ->(request) { request.session[:user_id] && { id: request.session[:user_id].to_s } }

  # true or false. Here everybody in development and nobody elsewhere; for those who are signed in: request.session[:user_id].present?
  config.gate = ->(_request) { Rails.env.development? }

  # Whether programs may use the stream adapters and the usage export, below /api/studio; and whose data a request sees.
  # config.authorized = ->(request) { false }
  # config.tenant = ->(request) { request.subdomain }

  config.declare do |studio|
    # studio.tool(:refund, description: "Pays an order back", require_approval: true) { |order_id:, amount:| { refunded: amount } }
    # studio.answer("secret.get") { |asked| { value: Rails.application.credentials.dig(:studio, asked["name"].to_sym) } }
    # studio.answer("log") { |line| Rails.logger.info("studio: #{line["message"]} #{line["fields"]}") }
  end
end
