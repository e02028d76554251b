# The studio: who asks, who may enter, and what the application answers.

WfStudio.rails do |config|
  config.studio = { database: { path: Rails.root.join("storage", "studio.sqlite").to_s } }

  # Nobody enters before this says so.
  config.user = ->(request) { request.session[:user_id] && { id: request.session[:user_id].to_s } }
  config.gate = ->(_request) { Rails.env.development? }

  config.declare do |studio|
    # studio.tool(:refund, require_approval: true) { |order_id:, amount:| { refunded: amount } }
  end
end
